"""A local store is whole or not there, however many jobs make it at once and whatever stops them."""

from __future__ import annotations

import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from reno_dspy.base.child_server import child_environment
from reno_dspy.base.errors import JobError
from reno_dspy.cli.main import group
from tests.tracking.evaluations import evaluate_scripted
from tracking.environment import PROCESS
from tracking.mlflow_tracker import MlflowTracker
from tracking.runs import all_runs, run_id_of
from tracking.store import experiment_id, open_client
from tracking.traces import log_traces

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


def test_a_store_of_an_earlier_mlflow_says_how_it_is_brought_up_to_date(store: str) -> None:
    with closing(sqlite3.connect(store.removeprefix("sqlite:///"))) as database, database:
        database.execute("UPDATE alembic_version SET version_num = '1bd49d398cd2'")
    with pytest.raises(JobError, match=f"mlflow db upgrade {store}") as caught:
        open_client(store)
    assert "move the file away" not in str(caught.value)


@pytest.mark.parametrize("how", ["moved", "copied"])
def test_a_store_finds_its_files_where_its_folder_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Old runs, new runs and their traces; the place that it was copied from is left alone."""
    old, new = tmp_path / "old project", tmp_path / "new"
    old.mkdir()
    monkeypatch.chdir(old)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    evaluate_scripted(old / "runs" / "one", MlflowTracker(), "one")
    log_traces(old / "runs" / "one", 1)
    run_id = str(run_id_of(old / "runs" / "one"))
    before = {path.relative_to(old) for path in old.rglob("*")}
    if how == "moved":
        old.rename(new)
    else:
        shutil.copytree(old, new)
    monkeypatch.chdir(new)
    assert run_id_of(new / "runs" / "one") == run_id
    evaluate_scripted(new / "runs" / "one", MlflowTracker(), "one")  # finished: all stays as it is
    evaluate_scripted(new / "runs" / "two", MlflowTracker(), "two")
    client = open_client()
    for run in all_runs(client, ("evaluate",)):
        kept = Path(client.download_artifacts(run.info.run_id, "report.json", str(tmp_path)))
        assert json.loads(kept.read_text())["system"] in str(run.info.run_name)
        assert run.info.artifact_uri.startswith(f"file://{new}/mlruns/artifacts/evaluate/")
    experiment = client.get_run(run_id).info.experiment_id
    [trace] = client.search_traces(locations=[experiment], run_id=run_id)
    assert trace.data.spans
    if how == "copied":
        assert {path.relative_to(old) for path in old.rglob("*")} == before
    else:
        assert not old.exists()


def test_artifacts_that_were_put_elsewhere_stay_there(store: str, tmp_path: Path) -> None:
    client = open_client(store)
    chosen = tmp_path / "elsewhere" / "evaluate"
    chosen.mkdir(parents=True)
    client.create_experiment("reno/evaluate", artifact_location=chosen.as_uri())
    again = open_client(store).get_experiment_by_name("reno/evaluate")
    assert again.artifact_location == chosen.as_uri()


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
