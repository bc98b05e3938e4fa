"""Imports point one way, and the command line stays light."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OURS = {"reno_dspy", "programs", "finetune", "tracking"}
ALLOWED = {
    "reno_dspy": {"reno_dspy"},
    "programs": {"reno_dspy", "programs"},
    "finetune": {"reno_dspy", "programs", "finetune"},
    "tracking": {"reno_dspy", "tracking"},
}
HEAVY = {"dspy", "torch", "mlflow", "transformers", "trl", "peft", "litellm", "gepa"}


def imports(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Import):
            yield from (alias.name.split(".")[0] for alias in inner.names)
        elif isinstance(inner, ast.ImportFrom) and inner.level == 0:
            yield (inner.module or "").split(".")[0]


def modules(package: str) -> list[Path]:
    return [
        p for p in (ROOT / package).rglob("*.py") if ROOT / "reno_dspy" / "cli" not in p.parents
    ]


@pytest.mark.parametrize("package", sorted(OURS))
def test_packages_import_downwards_only(package: str) -> None:
    for path in modules(package):
        found = set(imports(ast.parse(path.read_text(encoding="utf-8")))) & OURS
        assert found <= ALLOWED[package], path


def test_the_core_imports_no_framework() -> None:
    for path in modules("reno_dspy"):
        assert not set(imports(ast.parse(path.read_text(encoding="utf-8")))) & HEAVY, path


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
    for package in sorted(OURS):
        for path in (ROOT / package).rglob("*.py"):
            assert len(path.read_text(encoding="utf-8").splitlines()) <= 320, path
