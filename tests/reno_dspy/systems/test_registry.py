"""The table of systems: everything that names a system agrees with it."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reno_dspy.base.config import resolve
from reno_dspy.base.errors import InputError
from reno_dspy.cli.main import group
from reno_dspy.systems import Completion, registry
from reno_dspy.systems.options import SystemOptions
from reno_dspy.systems.registry import OPTIONS, ROWS, SYSTEMS, Entry, flag, open_system

ROOT = Path(__file__).parents[3]
VALUES = {
    "prompt": "two-shot",
    "adapter": "runs/mine",
    "api_base": "http://127.0.0.1:9/v1",
    "max_tokens": 5,
    "constrain": "copy",
    "workers": 2,
    "engine": "ray",
}
NAMES = [*SYSTEMS, "mine.crfsuite", "qwen3-0.6b", "mine.yaml"]


def options(system: str, **given: Any) -> SystemOptions:
    return resolve(SystemOptions, flags={"system": system} | given)


@pytest.mark.parametrize("name", NAMES)
def test_each_option_is_taken_or_refused(name: str) -> None:
    takes = registry.entry_of(name).takes
    assert takes <= OPTIONS == set(VALUES)
    for option, value in VALUES.items():
        if option in takes:
            options(name, **{option: value})
        else:
            with pytest.raises(InputError, match=f"{name} takes no {flag(option)}, but"):
                options(name, **{option: value})


@pytest.mark.parametrize("row", ROWS)
def test_each_factory_is_where_the_table_says(row: str) -> None:
    module, _, name = ROWS[row].factory.partition(":")
    factory = attrgetter(name)(importlib.import_module(module))
    assert len(inspect.signature(factory).parameters) == 2


def test_a_new_system_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Shout:
        """Leaves something running until it is closed."""

        name, batch_size, concurrency, closed = "shout", 1, 1, False

        @classmethod
        def from_options(cls, options: SystemOptions, log: Path) -> Shout:
            made.append(cls())
            return made[0]

        def identity(self) -> Mapping[str, str]:
            return {}

        async def start(self) -> None: ...

        async def annotate(self, references: Sequence[str]) -> list[Completion]:
            return [Completion(reference.upper()) for reference in references]

        def close(self) -> None:
            self.closed = True

    made: list[Shout] = []
    monkeypatch.setattr(registry, "Shout", Shout, raising=False)
    entry = Entry("reno_dspy.systems.registry:Shout.from_options", "answers in capitals")
    monkeypatch.setattr(registry, "SYSTEMS", {**SYSTEMS, "shout": entry})
    with open_system(options("shout"), tmp_path / "log") as system:
        assert system is made[0]
    assert made[0].closed


def test_an_unknown_name_gets_a_suggestion(tmp_path: Path) -> None:
    for name, hint in (
        ("tager", "Did you mean tagger?"),
        ("qwen3-0.6", "Did you mean qwen3-0.6b?"),
    ):
        with pytest.raises(InputError, match=hint), open_system(options(name), tmp_path / "log"):
            pass


def test_the_readme_and_the_help_show_the_table() -> None:
    assert registry.markdown_table() in (ROOT / "README.md").read_text(encoding="utf-8")
    for command in ("evaluate", "annotate"):
        shown = CliRunner().invoke(group, [command, "--help"], terminal_width=200).output
        for row, entry in ROWS.items():
            assert row in shown
            assert entry.about in shown
