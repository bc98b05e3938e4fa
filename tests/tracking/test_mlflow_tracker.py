"""Runs as they come back through MLflow's own API, from a SQLite store and from a server."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socketserver
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from mlflow.entities import Run
from mlflow.tracking import MlflowClient

from reno_dspy.base.tracker import DataRef
from tracking.journal import JournalTracker
from tracking.mlflow_tracker import MlflowTracker, log_run_dir
from tracking.store import open_client

METRICS = {"recall/lenient/surname": 91.25, "recall/strict/surname": 80.0, "valid_xml": 87.5}
DATA = DataRef(name="corpus", digest="sha256:" + "a1" * 32, path="/data/corpus", rows=12)


def all_runs(client: MlflowClient, job: str) -> list[Run]:
    experiment = client.get_experiment_by_name(f"reno/{job}")
    return list(client.search_runs([experiment.experiment_id])) if experiment else []


def artifact(client: MlflowClient, run: str, name: str, folder: Path) -> str:
    return Path(client.download_artifacts(run, name, str(folder))).read_text()


def test_everything_told_is_read_back(anywhere: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    (out / "plots").mkdir(parents=True)
    (out / "report.json").write_text('{"n": 12}')
    (out / "plots" / "a.svg").write_text("<svg/>")
    config = {"seed": 7, "lm": {"model": "m", "api_key": "sk-never", "max_tokens": 384}}
    with MlflowTracker(anywhere).start("told", "m on corpus", run_dir=out, config=config) as run:
        run.metrics({**METRICS, "recall/lenient/issue": None})
        run.metrics({"loss": 2.0}, step=1)
        run.metrics({"loss": 1.0}, step=2)
        run.tags({"system": "m"})
        run.params({"extra": [1, 2]})
        run.data(DATA, "test")
        run.artifact(out / "report.json")
        run.artifact(out / "plots", "plots")
        run.text("Annotate this.", "prompt/system.txt")
        run.describe("Recall of surnames **91.3**.")
        run_id = run.id
    assert run_id is not None
    client = open_client(anywhere)
    found = client.get_run(run_id)
    assert found.info.status == "FINISHED"
    assert found.info.run_name == "m on corpus"
    assert found.data.metrics.pop("wall_s") > 0
    assert found.data.metrics == {**METRICS, "loss": 1.0}
    assert [m.value for m in client.get_metric_history(run_id, "loss")] == [2.0, 1.0]
    expected = {"seed": "7", "lm.model": "m", "lm.api_key": "***", "lm.max_tokens": "384"}
    assert found.data.params == {**expected, "extra": "[1, 2]"}
    tags = found.data.tags
    assert (tags["job"], tags["system"]) == ("told", "m")
    assert tags["mlflow.note.content"] == "Recall of surnames **91.3**."
    assert "mlflow" in artifact(client, run_id, "environment.json", tmp_path)
    assert tags["command"].startswith("reno")
    [given] = found.inputs.dataset_inputs
    assert given.dataset.name == "corpus"
    assert given.dataset.digest == DATA.digest[:36]
    assert [(tag.key, tag.value) for tag in given.tags] == [("mlflow.data.context", "test")]
    assert artifact(client, run_id, "report.json", tmp_path) == '{"n": 12}'
    assert artifact(client, run_id, "plots/a.svg", tmp_path) == "<svg/>"
    assert artifact(client, run_id, "prompt/system.txt", tmp_path) == "Annotate this."
    assert "sk-never" not in artifact(client, run_id, "config.json", tmp_path)


def test_children_are_nested(anywhere: str, tmp_path: Path) -> None:
    with MlflowTracker(anywhere).start("nest", "gepa", run_dir=tmp_path, config={}) as run:
        with run.child("candidate-1") as first:
            first.metrics({"dev": 50.0})
        with run.child("candidate-2") as second:
            second.metrics({"dev": 60.0})
        with pytest.raises(ValueError, match="no proposal"), run.child("candidate-3"):
            raise ValueError("no proposal")
        parent = run.id
    client = open_client(anywhere)
    experiment = client.get_experiment_by_name("reno/nest").experiment_id
    children = client.search_runs([experiment], f"tags.mlflow.parentRunId = '{parent}'")
    assert {child.data.tags["job"] for child in children} == {"nest"}
    values = {child.info.run_name: child.data.metrics.get("dev") for child in children}
    assert values == {"candidate-1": 50.0, "candidate-2": 60.0, "candidate-3": None}
    states = {child.info.run_name: child.info.status for child in children}
    assert states["candidate-1"] == "FINISHED"
    assert states["candidate-3"] == "FAILED"
    assert client.get_run(parent).info.status == "FINISHED"


@pytest.mark.parametrize(
    ("error", "status"), [(ValueError("bad row"), "FAILED"), (KeyboardInterrupt(), "KILLED")]
)
def test_an_error_ends_the_run_and_a_resume_continues_it(
    store: str, tmp_path: Path, error: BaseException, status: str
) -> None:
    out = tmp_path / "run"
    tracker = MlflowTracker(store)

    def job() -> None:
        with tracker.start("e", "n", run_dir=out, config={"a": 1}) as run:
            run.metrics({"done": 1}, step=1)
            raise error

    with pytest.raises(type(error)):
        job()
    client = open_client(store)
    [first] = all_runs(client, "e")
    assert first.info.status == status
    if status == "FAILED":
        assert first.data.tags["error"] == "ValueError: bad row"
        assert "bad row" in artifact(client, first.info.run_id, "error.txt", tmp_path)
    with tracker.start("e", "n", run_dir=out, config={"a": 1}) as run:
        run.metrics({"done": 1}, step=1)
        run.metrics({"done": 2}, step=2)
    [second] = all_runs(client, "e")
    assert second.info.run_id == first.info.run_id
    assert second.info.status == "FINISHED"
    history = client.get_metric_history(second.info.run_id, "done")
    assert [(metric.step, metric.value) for metric in history] == [(1, 1.0), (2, 2.0)]


def test_a_long_run_shows_the_load_of_the_machine(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracking.machine._SECONDS", 0.1)
    client = open_client(store)
    with MlflowTracker(store).start("long", "n", run_dir=tmp_path, config={}) as run:
        assert run.id
        while not any(name.startswith("system/") for name in client.get_run(run.id).data.metrics):
            time.sleep(0.1)
        run_id = run.id
    assert "system/cpu_utilization_percentage" in client.get_run(run_id).data.metrics


def test_a_finished_run_that_is_opened_again_stays_as_it_is(store: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    (out / "plots").mkdir(parents=True)
    (out / "report.json").write_text("{}")

    def job(value: float) -> Run:
        with MlflowTracker(store).start("again", "n", run_dir=out, config={}) as run:
            run.metrics({"recall": value})
            run.artifact(out / "report.json")
            run.artifact(out / "plots")
        return open_client(store).get_run(run.id)

    first = job(1.0)
    journal = (out / "tracking.jsonl").read_text()
    second = job(1.0)
    assert (second.info.end_time, second.data.metrics) == (first.info.end_time, first.data.metrics)
    assert (out / "tracking.jsonl").read_text() == journal
    (out / "report.json").write_text('{"n": 2}')
    third = job(2.0)
    assert third.info.run_id == first.info.run_id
    assert third.info.status == "FINISHED"
    assert third.data.metrics["recall"] == 2.0
    assert artifact(open_client(store), third.info.run_id, "report.json", tmp_path) == '{"n": 2}'


KILLED_JOB = """
import os, signal, sys
from pathlib import Path
from tracking.mlflow_tracker import MlflowTracker
with MlflowTracker(sys.argv[1]).start("k", "n", run_dir=Path(sys.argv[2]), config={}) as run:
    run.metrics({"done": 1.0}, step=1)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_run_killed_hard_is_continued_not_duplicated(store: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = [sys.executable, "-c", KILLED_JOB, store, str(out)]
    killed = subprocess.run(command, cwd=Path(__file__).parents[2], env=os.environ, check=False)
    assert killed.returncode == -signal.SIGKILL
    with MlflowTracker(store).start("k", "n", run_dir=out, config={}) as run:
        run.metrics({"done": 1.0}, step=1)
        run.metrics({"done": 2.0}, step=2)
    client = open_client(store)
    [found] = all_runs(client, "k")
    assert found.info.status == "FINISHED"
    assert len(client.get_metric_history(found.info.run_id, "done")) == 2


@pytest.mark.parametrize("tracked_before", [True, False])
def test_a_run_whose_end_was_not_sent_is_completed_by_the_same_job(
    store: str, tmp_path: Path, *, tracked_before: bool
) -> None:
    """As after a kill between the end of a job and its tracking, or after a server was away."""
    tracker = JournalTracker()
    if tracked_before:
        with MlflowTracker(store).start("a12", "n", run_dir=tmp_path, config={}) as run:
            run.metrics({"early": 1.0})
        open_client(store).update_run(str(run.id), status="RUNNING")
        state = json.loads((tmp_path / "tracking.json").read_text())
        for known in state.values():
            known["sent"] -= 2  # the last metric and the end
        (tmp_path / "tracking.json").write_text(json.dumps(state))
    else:
        with tracker.start("a12", "n", run_dir=tmp_path, config={}) as made:
            made.metrics({"early": 1.0})
    with MlflowTracker(store).start("a12", "n", run_dir=tmp_path, config={}):
        pass
    [found] = all_runs(open_client(store), "a12")
    assert found.info.status == "FINISHED"
    assert found.data.metrics["early"] == 1.0
    assert found.data.metrics["wall_s"] >= 0


@pytest.mark.parametrize("how", ["deleted", "another store"])
def test_a_run_that_its_store_does_not_have_is_written_anew(
    empty_store: Path, store: str, tmp_path: Path, how: str
) -> None:
    """By the same job and by `reno runs log`, whatever the run directory remembers."""
    out = tmp_path / "run"
    with MlflowTracker(store).start("anew", "n", run_dir=out, config={}) as run:
        run.metrics(METRICS)
        with run.child("c") as child:
            child.metrics({"dev": 1.0}, step=3)
    first = str(run.id)
    if how == "deleted":
        open_client(store).delete_run(first)
    else:  # moved away, as the message on a broken store advises
        shutil.copy(empty_store, store.removeprefix("sqlite:///"))
    second = log_run_dir(out, store)
    assert second != first
    runs = {run.info.run_name: run for run in all_runs(open_client(store), "anew")}
    assert METRICS.items() <= runs["n"].data.metrics.items()
    assert runs["c"].data.tags["mlflow.parentRunId"] == second
    assert {run.info.status for run in runs.values()} == {"FINISHED"}


class Silent(socketserver.StreamRequestHandler):
    """A server that takes every request and answers none."""

    def handle(self) -> None:
        """Wait until the client gives up."""
        self.rfile.read()


def test_a_server_that_hangs_is_given_up_soon_and_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tracking.store._FIRST_SECONDS", 1)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "3600")
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Silent) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        uri = f"http://127.0.0.1:{server.server_address[1]}"
        with MlflowTracker(uri).start("hang", "n", run_dir=tmp_path, config={}) as run:
            run.metrics(METRICS)
            said = ""
            while "cannot be used" not in said:  # while the job is still going on
                time.sleep(0.05)
                said += capsys.readouterr().err
            run.metrics({"late": 1.0})
        server.shutdown()
    assert (said + capsys.readouterr().err).count("cannot be used") == 1
    assert os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] == "3600"


def test_threads_write_to_their_own_child(store: str, tmp_path: Path) -> None:
    with MlflowTracker(store).start("t", "n", run_dir=tmp_path, config={}) as run:

        def work(number: int) -> None:
            with run.child(f"c{number}") as child:
                for step in range(3):
                    child.metrics({"v": number * 10 + step}, step=step)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    client = open_client(store)
    seen = {r.info.run_name: r.data.metrics.get("v") for r in all_runs(client, "t")}
    assert seen == {"n": None, "c0": 2.0, "c1": 12.0, "c2": 22.0, "c3": 32.0}


def test_a_slow_store_does_not_hold_up_the_job(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = threading.Event()

    def slow_client(uri: str) -> MlflowClient:
        assert told.wait(60), "the job waits for the store"
        return open_client(uri)

    monkeypatch.setattr("tracking.sender.open_client", slow_client)
    with MlflowTracker(store).start("slow", "n", run_dir=tmp_path, config={"seed": 1}) as run:
        run.metrics(METRICS)
        run.text("x", "a.txt")
        told.set()
    found = open_client(store).get_run(str(run.id))
    assert found.info.status == "FINISHED"
    assert METRICS.items() <= found.data.metrics.items()


def test_a_store_out_of_reach_is_said_once_and_logged_later(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    dead = "http://user:pw@127.0.0.1:9"
    with MlflowTracker(dead).start("later", "n", run_dir=out, config={}) as run:
        run.metrics(METRICS)
        run.text("x", "a.txt")
    said = capsys.readouterr().err
    assert said.count("cannot be used") == 1
    assert f"reno runs log {out}" in said
    assert "pw" not in said + "".join(p.read_text() for p in out.glob("tracking.*"))
    first = log_run_dir(out, store)
    assert log_run_dir(out, store) == first
    client = open_client(store)
    [found] = all_runs(client, "later")
    assert {k: v for k, v in found.data.metrics.items() if k != "wall_s"} == METRICS
    assert len(client.get_metric_history(found.info.run_id, "valid_xml")) == 1
    assert found.info.status == "FINISHED"


def test_a_run_made_without_tracking_is_logged_later(store: str, tmp_path: Path) -> None:
    with JournalTracker().start("off", "n", run_dir=tmp_path, config={"seed": 1}) as run:
        run.metrics(METRICS)
        assert run.id is None
    run_id = log_run_dir(tmp_path, store)
    found = open_client(store).get_run(run_id)
    assert found.data.params == {"seed": "1"}
    assert found.data.metrics["valid_xml"] == 87.5


def test_sending_everything_twice_changes_nothing(anywhere: str, tmp_path: Path) -> None:
    with JournalTracker().start("twice", "n", run_dir=tmp_path, config={"seed": 1}) as run:
        run.metrics(METRICS)
        run.data(DATA, "test")
        with run.child("c") as child:
            child.metrics({"dev": 1.0}, step=3)
    run_id = log_run_dir(tmp_path, anywhere)
    (tmp_path / "tracking.json").unlink()  # as if killed before it was known what was sent
    assert log_run_dir(tmp_path, anywhere) == run_id
    client = open_client(anywhere)
    assert len(all_runs(client, "twice")) == 2
    assert len(client.get_metric_history(run_id, "valid_xml")) == 1
    assert len(client.get_run(run_id).inputs.dataset_inputs) == 1


def test_keys_in_the_environment_never_reach_a_run(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-in-the-environment")
    with MlflowTracker(store).start("s", "n", run_dir=tmp_path, config={}) as run:
        run.describe("asked with sk-in-the-environment")
        run.tags({"note": "sk-in-the-environment"})
    kept: Any = (tmp_path / "tracking.jsonl").read_text()
    assert "sk-in-the-environment" not in kept
    assert "***" in kept
