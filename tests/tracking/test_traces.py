"""Traces of an evaluation: on the right run, as many as asked for, with the field hits."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner
from mlflow.entities import Trace

from reno_dspy.base.errors import InputError
from reno_dspy.cli.main import group
from reno_dspy.measure.metric import compare
from tests.tracking.evaluations import evaluate_scripted
from tracking.journal import JournalTracker
from tracking.mlflow_tracker import MlflowTracker
from tracking.runs import run_id_of
from tracking.store import open_client
from tracking.traces import ROW, field_hits, log_traces

GOLD = "<mixed-citation><surname>A</surname><surname>B</surname><year>1999</year></mixed-citation>"


def traces_of(run_id: str) -> list[Trace]:
    client = open_client()
    experiment = client.get_run(run_id).info.experiment_id
    return list(client.search_traces(locations=[experiment], run_id=run_id, max_results=500))


def test_each_run_gets_its_own_traces_and_no_more_than_asked_for(
    anywhere: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", anywhere)
    runs = [tmp_path / "one", tmp_path / "two"]
    threads = [
        threading.Thread(target=evaluate_scripted, args=(out, MlflowTracker(), out.name))
        for out in runs
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert log_traces(runs[0], 3, lambda text: [{"role": "user", "content": text}]) == 3
    assert log_traces(runs[1], 5) == 5
    assert log_traces(runs[0], 4) == 1
    first, second = traces_of(str(run_id_of(runs[0]))), traces_of(str(run_id_of(runs[1])))
    assert sorted(trace.info.tags[ROW] for trace in first) == ["0", "1", "2", "3"]
    assert len(second) == 5
    [trace] = [trace for trace in first if trace.info.tags[ROW] == "0"]
    [span] = trace.data.spans
    assert span.inputs["reference"].startswith("Name0 A")
    assert span.inputs["messages"][0]["content"] == span.inputs["reference"]
    assert span.outputs["fields"]["year"] == "1/1"


def test_untracked_runs_are_refused(
    anywhere: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", anywhere)
    evaluate_scripted(tmp_path / "run", JournalTracker(), "s")
    with pytest.raises(InputError, match="reno runs log"):
        log_traces(tmp_path / "run", 3)


@pytest.mark.parametrize("lost", ["before", "after"])
def test_a_store_that_is_away_leaves_the_evaluation_with_its_report(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """Lost before the run was written, or only when its traces are."""
    dead = "http://127.0.0.1:9"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", dead if lost == "before" else store)
    if lost == "after":
        monkeypatch.setattr("tracking.traces._write", _lose_connection)
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps({"plaintext": "A B. 1999.", "xml": GOLD}) + "\n")
    out = tmp_path / "run"
    arguments = ["evaluate", "--system", "crf", "--data", str(data), "--out", str(out)]
    done = CliRunner().invoke(group, [*arguments, "--trace", "all"], catch_exceptions=False)
    assert done.exit_code == 0
    assert (out / "report.json").exists()
    assert done.output.count("No traces were written") == 1
    assert ("reno runs trace" in done.output) == (lost == "before")


def _lose_connection(*arguments: object) -> None:
    raise ConnectionError("the server is gone")


def test_hits_name_what_was_missed_and_wrong() -> None:
    answer = "<mixed-citation><surname>A</surname><year>2000</year></mixed-citation>"
    hits = field_hits(compare(GOLD, answer))
    assert hits == {"surname": "1/2; missed 'B'", "year": "0/1; missed '1999'; wrong '2000'"}
