"""Traces of an evaluation: on the right run, as many as asked for, with the field hits."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from mlflow.entities import Trace

from reno_dspy.base.errors import InputError
from reno_dspy.measure.metric import compare
from tests.tracking.evaluations import evaluate_scripted
from tracking.journal import JournalTracker
from tracking.mlflow_tracker import MlflowTracker
from tracking.runs import run_id_of
from tracking.store import open_client
from tracking.traces import ROW, field_hits, log_traces


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


def test_hits_name_what_was_missed_and_wrong() -> None:
    gold = (
        "<mixed-citation><surname>A</surname><surname>B</surname><year>1999</year></mixed-citation>"
    )
    answer = "<mixed-citation><surname>A</surname><year>2000</year></mixed-citation>"
    hits = field_hits(compare(gold, answer))
    assert hits == {"surname": "1/2; missed 'B'", "year": "0/1; missed '1999'; wrong '2000'"}
