"""Configuration: YAML, then flags, then --set; unknown keys refused; options made from the model."""

from pathlib import Path
from typing import Literal

import click
import pytest
from click.testing import CliRunner
from pydantic import Field

from reno_dspy.base.config import Config, Free, find_recipe, resolve
from reno_dspy.base.errors import InputError
from reno_dspy.cli.main import group
from reno_dspy.cli.options import job_options


class Inner(Config):
    rank: int = 8
    url: Free[str | None] = Field(None, max_length=20, description="Where it is asked.")


class Job(Config):
    data: str = Field(description="Where the rows are.")
    steps: int = Field(40, ge=1, description="How many steps.")
    kind: Literal["a", "b"] = Field("a", description="Which kind.")
    out: Free[Path | None] = Field(None, description="Run directory.")
    keep: bool = Field(True, description="Keep it.")
    lora: Inner = Field(Inner(), description="Nested.")


def test_flags_override_the_file_and_set_overrides_both(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("data: x\nsteps: 3\nlora: {rank: 4}\n")
    job = resolve(Job, file, {"steps": 5, "out": None}, ["lora.rank=16", "kind=b"])
    assert (job.data, job.steps, job.lora.rank, job.kind) == ("x", 5, 16, "b")


def test_identity_leaves_out_free_options_here_and_in_groups() -> None:
    job = resolve(Job, None, {"data": "x", "out": "y"}, ["lora.url=http://127.0.0.1"])
    assert (job.out, job.lora.url) == (Path("y"), "http://127.0.0.1")
    assert job.identity() == {
        "data": "x", "steps": 40, "kind": "a", "keep": True, "lora": {"rank": 8},
    }  # fmt: skip
    with pytest.raises(InputError, match=r"lora\.url: .*at most 20"):
        resolve(Job, None, {"data": "x"}, ["lora.url=http://127.0.0.1:8000/v1"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("data: x\nstep: 3\n", "step: unknown option"),
        ("steps: 3\n", r"data: required \(--data\)"),
        ("data: x\nsteps: none\n", "steps: .*got 'none'"),
        ("data: x\nlora: {rang: 1}\n", "lora.rang: unknown option. Known here: rank, url."),
        ("- x\n", "must hold `key: value` lines"),
        ("a: [\n", "not valid YAML"),
    ],
)
def test_a_wrong_file_is_answered_with_file_and_key(
    tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        resolve(Job, file)
    assert str(file) in str(caught.value)


class Outer(Config):
    data: str = "d"
    job: Job | None = None


@pytest.mark.parametrize(
    ("flags", "sets", "message"),
    [
        (
            {},
            ["job.steps=3"],
            r"^In --set job.steps=3:\n  job.data: required \(--set job.data=VALUE\)\.$",
        ),
        (
            {},
            ["job={steps: 0}"],
            r"^In --set job={steps: 0}:\n  job.data: .*\n  job.steps: .*got 0\)\.$",
        ),
        ({}, ["job.step=3"], r"Known here: data, keep, kind, lora, out, steps\."),
        ({"data": 3}, [], r"^In --data:\n  data: .*got 3\)\.$"),
        ({}, ["jobs=1"], r"^In --set jobs=1:\n  jobs: unknown option. Known here: data, job\.$"),
    ],
)
def test_a_wrong_option_is_not_blamed_on_the_file(
    tmp_path: Path, flags: dict[str, object], sets: list[str], message: str
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("data: x\n")
    with pytest.raises(InputError, match=message):
        resolve(Outer, file, flags, sets)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["build", "--corpus", "x", "--train", "0.9", "--dev", "0.2"], "train + dev must leave"),
        (["optimize", "light", "--data", "x", "--program", "extract", "--final"], "In --final:"),
    ],
)
def test_options_that_do_not_fit_together_are_seen_by_a_dry_run(
    arguments: list[str], said: str
) -> None:
    result = CliRunner().invoke(group, [*arguments, "--out", "y", "--dry-run"])
    assert said in str(result.exception)


def test_a_missing_recipe_lists_those_that_ship(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text("data: x\n")
    assert find_recipe("small", tmp_path) == tmp_path / "small.yaml"
    with pytest.raises(InputError, match=r"neither a file nor one that ships \(small\)"):
        find_recipe("large", tmp_path)


@click.command()
@job_options(Job)
def command(config: Job, *, fresh: bool, tracking: bool) -> None:
    """Do it."""
    click.echo(f"{config.steps} {config.keep} {fresh} {tracking}")


def test_help_shows_every_option_with_its_default() -> None:
    text = " ".join(CliRunner().invoke(command, ["--help"], terminal_width=200).output.split())
    assert "--data TEXT Where the rows are. [required]" in text
    assert "--steps INTEGER How many steps. [default: 40]" in text
    assert "--kind [a|b] Which kind. [default: a]" in text
    assert "--keep / --no-keep Keep it. [default: True]" in text
    assert "--out PATH Run directory. --keep" in text


def test_options_reach_the_job() -> None:
    result = CliRunner().invoke(command, ["--data", "x", "--steps", "7", "--no-keep", "--fresh"])
    assert result.output == "7 False True True\n"


def test_dry_run_prints_the_resolved_configuration() -> None:
    result = CliRunner().invoke(command, ["--data", "x", "--dry-run", "--set", "lora.rank=2"])
    assert "data: x\nsteps: 40\n" in result.output
    assert "rank: 2" in result.output
