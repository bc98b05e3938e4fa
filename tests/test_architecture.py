"""Imports point one way, and the command line stays light."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OURS = ("reno_dspy", "programs", "finetune", "tracking")
# Folders inside the other three packages that are rooms of their own; in `reno_dspy` every folder is one.
INNER = {
    "programs.optimize",
    "finetune.training",
    "finetune.tagger",
    "finetune.serving",
    "tracking.compare",
}
BASE = {"reno_dspy.base"}
JATS = BASE | {"reno_dspy.jats"}
DATA = JATS | {"reno_dspy.data"}
SYSTEMS = DATA | {"reno_dspy.systems"}
CORE = SYSTEMS | {"reno_dspy.build", "reno_dspy.measure", "reno_dspy.annotate", "reno_dspy.fetch"}
CORE |= {"reno_dspy.synthesize"}
# Room -> the rooms that it may import. On top, `reno_dspy.cli` and `reno_dspy.api` may import all.
TOP = {ROOT / "reno_dspy" / "cli", ROOT / "reno_dspy" / "api"}
ALLOWED = {
    "reno_dspy": {"reno_dspy.api", "reno_dspy.base"},
    "reno_dspy.base": set(),
    "reno_dspy.jats": BASE,
    "reno_dspy.data": JATS,
    "reno_dspy.fetch": DATA,
    "reno_dspy.build": DATA,
    "reno_dspy.synthesize": DATA,
    "reno_dspy.systems": DATA,
    "reno_dspy.measure": SYSTEMS,
    "reno_dspy.annotate": SYSTEMS,
    "reno_dspy.service": CORE,
    "programs": CORE,
    "programs.optimize": CORE | {"programs"},
    "finetune": CORE | {"programs"},
    "finetune.serving": CORE | {"programs", "finetune"},
    "finetune.tagger": CORE | {"finetune"},
    "finetune.training": CORE | {"programs", "finetune", "finetune.serving", "finetune.tagger"},
    "tracking": CORE,
    "tracking.compare": CORE | {"tracking"},
}
HEAVY = {"dspy", "torch", "mlflow", "transformers", "trl", "peft", "litellm", "gepa"}


def imports(node: ast.AST) -> Iterator[str]:
    """The dotted names of the modules that a piece of code imports, lazily or not."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Import):
            yield from (alias.name for alias in inner.names)
        elif isinstance(inner, ast.ImportFrom) and inner.level == 0:
            # `from a import b` may name the module a.b.
            yield from (f"{inner.module}.{alias.name}" for alias in inner.names)


def imported(path: Path) -> set[str]:
    return set(imports(ast.parse(path.read_text(encoding="utf-8"))))


def room(name: str) -> str:
    """The room of a module: `reno_dspy.jats`, `programs`, `programs.optimize`, ..."""
    package, _, rest = name.partition(".")
    inner = f"{package}.{rest.partition('.')[0]}"
    if package == "reno_dspy":
        return inner if (ROOT / inner.replace(".", "/")).is_dir() else package
    return inner if inner in INNER else package


def modules(package: str) -> list[Path]:
    return [p for p in (ROOT / package).rglob("*.py") if not TOP & set(p.parents)]


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


@pytest.mark.parametrize("package", sorted(OURS))
def test_rooms_import_downwards_only(package: str) -> None:
    for path in modules(package):
        own = room(dotted(path))
        found = {room(name) for name in imported(path) if name.split(".")[0] in OURS}
        # The package itself holds the version and nothing else that a room could want.
        assert found - {own, "reno_dspy"} <= ALLOWED.get(own, set()), path


def test_every_core_module_is_in_a_room() -> None:
    assert [p.name for p in (ROOT / "reno_dspy").glob("*.py")] == ["__init__.py"]


def test_the_core_imports_no_framework() -> None:
    for path in modules("reno_dspy"):
        assert not {name.split(".")[0] for name in imported(path)} & HEAVY, path


def test_modules_are_named_as_text_in_three_places_only() -> None:
    """The tables of systems and of commands, and a child process; anywhere else text would hide an arrow.

    What `base.limited` runs is named by a module that lies beside it, whose arrows are checked.
    """
    lazily = {
        path.relative_to(ROOT).as_posix()
        for package in OURS
        for path in (ROOT / package).rglob("*.py")
        if "import_module" in path.read_text(encoding="utf-8")
    }
    assert lazily == {
        "reno_dspy/base/limited.py",
        "reno_dspy/cli/main.py",
        "reno_dspy/systems/registry.py",
    }


def run(code: str) -> str:
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr.strip()


def test_help_loads_next_to_nothing() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from reno_dspy.cli.main import group; "
        "result = CliRunner().invoke(group, ['--help']); assert 'evaluate' in result.output; "
        f"sys.exit(' '.join(set(sys.modules) & {HEAVY | {'pydantic', 'numpy', 'lxml'}!r}))"
    )
    assert run(code) == ""


def test_commands_load_no_framework_before_they_run() -> None:
    code = (
        "import sys; from reno_dspy.cli.main import COMMANDS, group; "
        "assert all(group.get_command(None, name) for name in COMMANDS); "
        f"sys.exit(' '.join(set(sys.modules) & {HEAVY!r}))"
    )
    assert run(code) == ""


def test_modules_stay_small() -> None:
    for package in OURS:
        for path in (ROOT / package).rglob("*.py"):
            assert len(path.read_text(encoding="utf-8").splitlines()) <= 320, path
