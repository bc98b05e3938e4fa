"""A local store is whole or not there, however many jobs make it at once and whatever stops them."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from reno_dspy.base.child_server import child_environment
from reno_dspy.base.errors import JobError
from reno_dspy.cli.main import group
from tracking.environment import PROCESS
from tracking.runs import all_runs
from tracking.store import experiment_id, open_client

FIRST_RUN = (
    "import sys; from tracking.store import experiment_id, open_client; "
    "client = open_client(sys.argv[1]); "
    "client.create_run(experiment_id(client, 'evaluate'), run_name=sys.argv[2])"
)


def test_first_jobs_that_start_at_once_all_have_their_run(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/mlruns/mlflow.db"
    jobs = [
        subprocess.Popen([sys.executable, "-c", FIRST_RUN, uri, str(i)], env=child_environment())
        for i in range(4)
    ]
    assert [job.wait() for job in jobs] == [0] * 4
    assert sorted(str(run.info.run_name) for run in all_runs(open_client(uri))) == list("0123")


def test_a_disk_that_is_full_leaves_no_store_and_the_next_start_makes_one(tmp_path: Path) -> None:
    database = tmp_path / "mlruns" / "mlflow.db"
    (tmp_path / "mlruns").mkdir()
    # As a kill in the middle leaves it, and as SQLite does when it opens a file that is not there.
    (tmp_path / "mlruns" / ".mlflow.db.1.tmp").write_bytes(b"SQLite format 3")
    database.touch()

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    command = [sys.executable, "-c", FIRST_RUN, f"sqlite:///{database}", "a"]
    done = subprocess.run(
        command, env=child_environment(), preexec_fn=little_room, capture_output=True, check=False
    )
    assert done.returncode != 0
    assert database.stat().st_size == 0
    open_client(f"sqlite:///{database}")
    assert [path.name for path in database.parent.glob(".*.tmp*")] == []


@pytest.mark.parametrize("command", [["runs", "list"], ["leaderboard"], ["ui"], ["runs", "clean"]])
def test_a_store_that_cannot_be_opened_is_named_in_a_sentence(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "mlflow.db"
    database.write_bytes(b"no database, but long enough to look like one" * 99)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{database}")
    error = CliRunner().invoke(group, command).exception
    assert isinstance(error, JobError)
    assert str(database) in str(error)
    assert "move the file away" in str(error)
    assert "\n" not in str(error)


def test_runs_of_other_hosts_are_left_with_the_reason_and_closed_by_name(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store)
    client = open_client()
    experiment = experiment_id(client, "evaluate")
    far = client.create_run(experiment, run_name="far", tags={PROCESS: "node17:1"}).info.run_id
    here = f"{os.uname().nodename}:{os.getpid()}"
    client.create_run(experiment, run_name="here", tags={PROCESS: here})
    left = CliRunner().invoke(group, ["runs", "clean"]).output
    assert "far (its process 1 ran on node17" in left
    assert f"here (its process {os.getpid()} is alive)" in left
    assert "Nothing to clean." in left
    CliRunner().invoke(group, ["runs", "clean", "--run", far[:8]], catch_exceptions=False)
    assert client.get_run(far).info.status == "KILLED"
    refused = CliRunner().invoke(group, ["runs", "clean", "--run", "nothing"])
    assert "No RUNNING run has the id" in str(refused.exception)
