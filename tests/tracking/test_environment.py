"""What a run says of its making, and what it must never say."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from tracking.environment import about, command_line, versions


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["reno", "evaluate", "--api-key", "sk-1", "--limit", "3"], "--api-key '***' --limit 3"),
        (["reno", "evaluate", "--api-key=sk-1"], "'--api-key=***'"),
        (["reno", "evaluate", "--set", "lm.api_key=sk-1"], "--set 'lm.api_key=***'"),
        (["reno", "evaluate", "--set", "lm.max_tokens=384"], "lm.max_tokens=384"),
        (["reno", "evaluate", "--out", "my runs"], "--out 'my runs'"),
        (["reno", "--api-base", "http://me:sk-1@host/v1?key=sk-1"], "'http://***@host/v1?key=***'"),
    ],
)
def test_the_command_reproduces_without_keys(words: list[str], shown: str) -> None:
    line = command_line(words)
    assert line.endswith(shown)
    assert "sk-1" not in line


def test_a_command_inside_another_names_itself() -> None:
    seen = []

    @click.command("inner")
    @click.argument("names", nargs=-1)
    @click.option("--limit", type=int)
    @click.option("--set", "sets", multiple=True)
    @click.option("--other", default=1)
    @click.option("--tracking/--no-tracking", default=True)
    def inner(**_: object) -> None:
        seen.append(about()["command"])

    @click.group("reno")
    def outer() -> None:
        pass

    outer.add_command(inner)
    words = ["inner", "a", "b", "--limit", "3", "--set", "x=1", "--set", "y=2", "--no-tracking"]
    result = CliRunner().invoke(outer, words, catch_exceptions=False)
    assert result.exit_code == 0
    assert seen == ["reno inner a b --limit 3 --set x=1 --set y=2 --no-tracking"]


def test_versions_name_what_results_depend_on() -> None:
    assert {"python", "mlflow", "dspy", "torch"} <= set(versions())
