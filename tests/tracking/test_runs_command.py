"""`reno runs`: log, list, clean, published."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from reno_dspy.base.errors import InputError
from reno_dspy.cli.runs import command
from tests.tracking.evaluations import evaluate_scripted
from tracking.journal import JournalTracker
from tracking.mlflow_tracker import MlflowTracker
from tracking.store import open_client

DYING = """
import os, signal, sys
from pathlib import Path
from tracking.mlflow_tracker import MlflowTracker
with MlflowTracker().start("train", "dies", run_dir=Path(sys.argv[1]), config={}) as run:
    with run.child("checkpoint") as child:
        child.metrics({"loss": 1.0})
        assert child.id, 'not in the store'
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def here(anywhere: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store of the test is the one that commands see."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", anywhere)
    monkeypatch.setenv("COLUMNS", "100")


def reno_runs(*arguments: str) -> str:
    result = CliRunner().invoke(command, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_log_writes_a_run_made_without_tracking_once(tmp_path: Path) -> None:
    report = evaluate_scripted(tmp_path / "run", JournalTracker(), "s")
    first = reno_runs("log", str(tmp_path / "run"))
    assert reno_runs("log", str(tmp_path / "run")) == first
    client = open_client()
    [run] = client.search_runs([client.get_experiment_by_name("reno/evaluate").experiment_id])
    assert run.data.metrics["recall/lenient/surname"] == report.fields["surname"].value(
        "recall_lenient"
    )
    assert len(client.get_metric_history(run.info.run_id, "recall/lenient/surname")) == 1


def test_log_refuses_what_is_no_run_directory(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no directory"):
        CliRunner().invoke(command, ["log", str(tmp_path / "no")], catch_exceptions=False)
    with pytest.raises(InputError, match="no record of a run"):
        CliRunner().invoke(command, ["log", str(tmp_path)], catch_exceptions=False)


def test_list_shows_the_newest_runs(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with MlflowTracker().start(name, f"run {name}", run_dir=tmp_path / name, config={}) as run:
            with run.child("nested"):
                pass
    shown = reno_runs("list")
    assert shown.index("run two") < shown.index("run one")
    assert "nested" not in shown
    assert "run two" not in reno_runs("list", "--job", "one")
    assert "1 older ones" in reno_runs("list", "--limit", "1")
    with MlflowTracker().start("three", "[/odd] name", run_dir=tmp_path / "three", config={}):
        pass
    assert "[/odd] name" in reno_runs("list")


def test_clean_closes_runs_whose_process_died(tmp_path: Path) -> None:
    code = [sys.executable, "-c", DYING, str(tmp_path / "run")]
    died = subprocess.run(code, cwd=Path(__file__).parents[2], env=os.environ, check=False)
    assert died.returncode == -signal.SIGKILL
    with MlflowTracker().start("train", "alive", run_dir=tmp_path / "alive", config={}):
        planned = reno_runs("clean", "--dry-run")
        assert planned.count("close as KILLED") == 2
        closed = [line for line in planned.splitlines() if line.startswith("close")]
        assert not any("alive" in line for line in closed)
        assert [line for line in reno_runs("clean").splitlines() if line in closed] == closed
    assert reno_runs("clean") == "Nothing to clean.\n"
    client = open_client()
    runs = client.search_runs([client.get_experiment_by_name("reno/train").experiment_id])
    states = {run.info.run_name: run.info.status for run in runs}
    assert states == {"dies": "KILLED", "checkpoint": "KILLED", "alive": "FINISHED"}
    assert "delete" in reno_runs("clean", "--delete-failed")
    assert "dies" not in reno_runs("list")


def test_published_rows_are_imported(tmp_path: Path) -> None:
    assert reno_runs("published") == reno_runs("published")
