"""Run directories: the same job resumes, another is refused, one process at a time works in one."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reno_dspy.base.errors import InputError
from reno_dspy.base.files import write_text
from reno_dspy.base.rundir import RunDir, read_config


def open_run(
    path: Path, options: dict[str, Any], job: str = "evaluate", **more: Any
) -> dict[str, Any]:
    """Open a run directory and close it again; what it is then known by."""
    with RunDir.open(path, job, options, **({"depends_on": {}} | more)):
        pass
    return read_config(path)


def test_the_same_job_resumes(tmp_path: Path) -> None:
    run, data = tmp_path / "run", {"data": "d1", "system": {"model": "m"}}
    open_run(run, {"seed": 1, "data": Path("x").as_posix()}, depends_on=data)
    write_text(run / "kept", "yes")
    known = open_run(run, {"seed": 1, "data": "x"}, depends_on=data)
    assert (run / "kept").read_text() == "yes"
    assert known == {"job": "evaluate", "config": {"seed": 1, "data": "x"}, "depends_on": data}
    assert sorted(path.name for path in run.iterdir()) == ["config.json", "kept"]


def test_other_options_are_refused_and_each_difference_named(tmp_path: Path) -> None:
    open_run(tmp_path / "run", {"seed": 1, "lm": {"top_p": 0.5, "model": "m"}, "same": 0})
    with pytest.raises(
        InputError, match=r"lm\.top_p: 0\.5 -> 1(.|\n)*seed: 1 -> 2\n.*--fresh"
    ) as e:
        open_run(tmp_path / "run", {"seed": 2, "lm": {"top_p": 1, "model": "m"}, "same": 0})
    assert "model" not in str(e.value)


def test_another_input_is_refused_unless_the_job_renews_what_it_concerns(tmp_path: Path) -> None:
    run = tmp_path / "run"
    open_run(run, {}, depends_on={"data": "d1"})
    with pytest.raises(
        InputError, match=r"made from something else:\n  data: 'd1' -> 'd2'\n.*--out"
    ):
        open_run(run, {}, depends_on={"data": "d2"})
    with pytest.raises(InputError, match="to start over, call Ann"):
        open_run(run, {}, depends_on={"data": "d2"}, anew="call Ann")
    assert open_run(run, {}, depends_on={"data": "d2"}, renew=True)["depends_on"]["data"] == "d2"
    open_run(run, {}, depends_on={"data": "d2"})


def test_fresh_starts_over_but_never_deletes_what_is_not_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    open_run(run, {"seed": 1})
    for name in ("old", "folder/old", "reviews/s1/verdicts.csv"):
        write_text(run / name, "x")
    assert open_run(run, {"seed": 2}, fresh=True, keep={"reviews"})["config"] == {"seed": 2}
    assert sorted(path.name for path in run.rglob("*") if path.is_file()) == [
        "config.json",
        "verdicts.csv",
    ]
    assert "reviews is kept" in capsys.readouterr().err
    write_text(tmp_path / "home" / "letter.txt", "dear")
    for fresh in (False, True):
        with pytest.raises(InputError, match="not a run directory; nothing was touched"):
            open_run(tmp_path / "home", {}, fresh=fresh)
        with pytest.raises(InputError, match="holds a run of `evaluate`"):
            open_run(run, {}, "build", fresh=fresh)
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("left", [".config.json.12.tmp", ".lock", ".fresh.12.tmp/old", "reviews/x"])
def test_a_directory_whose_first_write_was_cut_is_taken_over(left: str, tmp_path: Path) -> None:
    write_text(tmp_path / left, "{")
    open_run(tmp_path, {"seed": 1}, keep={"reviews"})
    kept = [path.name for path in tmp_path.iterdir()]
    assert sorted(kept) == sorted({"config.json"} | ({"reviews"} if "reviews" in left else set()))


@pytest.mark.parametrize("text", ["", "[]", '{"config": []}', '{"job": 1, "config": {}}', "{"])
def test_damaged_notes_are_a_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text)
    for fresh in (False, True):
        with pytest.raises(InputError, match=r"no readable config\.json: .*Nothing was touched"):
            open_run(tmp_path, {}, fresh=fresh)
    assert (tmp_path / "config.json").read_text() == text


def test_a_file_or_an_unwritable_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        open_run(tmp_path / "file", {})
    with pytest.raises(InputError, match="Cannot write to"):
        open_run(Path("/proc/none/run"), {})


def test_credentials_do_not_enter_the_directory(tmp_path: Path) -> None:
    options = {"extra_body": {"api_key": "topsecret1"}, "base": "http://u:hunter2p@h/v1"}
    open_run(tmp_path, options)
    assert not any(secret in (tmp_path / "config.json").read_text() for secret in ("top", "hunt"))
    open_run(tmp_path, options)


HOLDER = """
import sys
from pathlib import Path
from reno_dspy.base.rundir import RunDir
with RunDir.open(Path(sys.argv[1]), "evaluate", {}, depends_on={}):
    print("open", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(run), "--api-base", "http://u:hunter2p@h"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as holder:  # fmt: skip
        assert holder.stdout
        holder.stdout.readline()
        for fresh in (False, True):
            with pytest.raises(InputError) as caught:
                open_run(run, {}, fresh=fresh)
            said = str(caught.value)
            assert f"{run} is in use by process {holder.pid} on {os.uname().nodename} (`-c" in said
            assert "hunter2p" not in said
        holder.kill()
    assert (run / ".lock").exists()
    open_run(run, {})
    assert not (run / ".lock").exists()


def test_what_a_killed_process_left_is_removed_but_not_from_a_run_inside_that_is_in_use(
    tmp_path: Path,
) -> None:
    open_run(tmp_path, {})
    for name in (".a.1.tmp", "stages/.b.2.tmp"):
        write_text(tmp_path / name, "x")
    with RunDir.open(tmp_path / "inner", "review", {}, depends_on={}) as inner:
        write_text(inner / ".c.3.tmp", "x")
        open_run(tmp_path, {})
    assert [path.name for path in tmp_path.rglob("*.tmp")] == [".c.3.tmp"]


def test_a_directory_of_an_earlier_version_resumes_or_says_how_to_make_it_anew(
    tmp_path: Path,
) -> None:
    """Then `config` held options and inputs together, and some jobs noted no inputs at all."""

    def earlier(config: dict[str, Any]) -> Path:
        write_text(tmp_path / "config.json", json.dumps({"job": "evaluate", "config": config}))
        return tmp_path

    known = open_run(earlier({"seed": 1, "data": "d"}), {"seed": 1}, depends_on={"data": "d"})
    assert known["depends_on"] == {"data": "d"}
    with pytest.raises(InputError, match="another configuration:\n  data: 'd' -> 'e'"):
        open_run(earlier({"seed": 1, "data": "d"}), {"seed": 1}, depends_on={"data": "e"})
    with pytest.raises(InputError, match=r"earlier version.*\(data\).*same command with --fresh"):
        open_run(earlier({"seed": 1}), {"seed": 1}, depends_on={"data": "d"})
