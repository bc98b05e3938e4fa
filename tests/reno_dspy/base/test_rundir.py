"""Run directories: same configuration resumes, another is refused, nothing is half written."""

from pathlib import Path

import pytest

from reno_dspy.base.errors import InputError
from reno_dspy.base.files import write_text
from reno_dspy.base.rundir import RunDir, read_config


def test_the_same_configuration_resumes(tmp_path: Path) -> None:
    run = RunDir.open(tmp_path / "run", "evaluate", {"seed": 1, "data": Path("x").as_posix()})
    write_text(run / "kept", "yes")
    RunDir.open(tmp_path / "run", "evaluate", {"seed": 1, "data": "x"})
    assert (run / "kept").read_text() == "yes"
    assert read_config(run.path)["config"]["seed"] == 1


def test_another_configuration_is_refused_and_each_difference_named(tmp_path: Path) -> None:
    RunDir.open(tmp_path / "run", "evaluate", {"seed": 1, "limit": 5, "same": 0})
    with pytest.raises(InputError, match=r"limit: 5 -> 6(.|\n)*seed: 1 -> 2(.|\n)*--fresh"):
        RunDir.open(tmp_path / "run", "evaluate", {"seed": 2, "limit": 6, "same": 0})


def test_fresh_starts_over_but_never_deletes_what_is_not_a_run(tmp_path: Path) -> None:
    run = RunDir.open(tmp_path / "run", "evaluate", {"seed": 1})
    write_text(run / "old", "x")
    RunDir.open(tmp_path / "run", "evaluate", {"seed": 2}, fresh=True)
    assert not (run / "old").exists()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").write_text("dear")
    for fresh in (False, True):
        with pytest.raises(InputError, match="not a run directory; nothing was touched"):
            RunDir.open(tmp_path / "home", "evaluate", {}, fresh=fresh)
        with pytest.raises(InputError, match="holds a run of `evaluate`"):
            RunDir.open(tmp_path / "run", "build", {}, fresh=fresh)
    assert (tmp_path / "home" / "letter.txt").exists()


def test_a_file_or_an_unwritable_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        RunDir.open(tmp_path / "file", "evaluate", {})
    with pytest.raises(InputError, match="Cannot write to"):
        RunDir.open(Path("/proc/none/run"), "evaluate", {})
