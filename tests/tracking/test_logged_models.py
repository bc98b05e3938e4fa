"""Adapters as logged models: scores are tied to weights and data."""

from __future__ import annotations

from pathlib import Path

import pytest

from reno_dspy.base.tracker import DataRef, Tracker
from tracking.journal import JournalTracker
from tracking.mlflow_tracker import MlflowTracker, log_run_dir
from tracking.store import experiment_ids, open_client

DATA = DataRef("corpus", "da7a", "/data/corpus", 5)


def train(tracker: Tracker, out: Path) -> str | None:
    with tracker.start("finetune", "train", run_dir=out, config={}) as run:
        run.metrics({"loss": 1.0})
        run.tags({"makes.adapter": "abc123"})
        return run.id


def measure(tracker: Tracker, out: Path, adapter: str) -> str | None:
    with tracker.start("evaluate", "measure", run_dir=out, config={}) as run:
        run.tags({"uses.adapter": adapter})
        run.data(DATA, "test")
        run.metrics({"recall/lenient/year": 90.0})
        return run.id


@pytest.mark.parametrize("kind", ["store", "server"])
def test_scores_belong_to_the_adapter_and_the_data(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    uri = request.getfixturevalue(kind)
    tracker = MlflowTracker(uri)
    trained = train(tracker, tmp_path / "train")
    measured = measure(tracker, tmp_path / "measure", "abc123")
    client = open_client(uri)
    [model] = client.search_logged_models(experiment_ids(client), "tags.digest = 'abc123'")
    assert (model.name, model.source_run_id, model.status) == ("adapter-abc123", trained, "READY")
    [metric] = [metric for metric in model.metrics if metric.key != "wall_s"]
    assert (metric.key, metric.value, metric.run_id) == ("recall/lenient/year", 90.0, measured)
    assert (metric.dataset_name, metric.dataset_digest) == ("corpus", "da7a")
    run = client.get_run(measured)
    assert [given.model_id for given in run.inputs.model_inputs] == [model.model_id]
    assert run.data.metrics["recall/lenient/year"] == 90.0
    made = client.get_run(trained).outputs.model_outputs
    assert [given.model_id for given in made] == [model.model_id]


def test_an_adapter_from_elsewhere_is_entered_once(store: str, tmp_path: Path) -> None:
    measure(JournalTracker(), tmp_path / "run", "fff000")
    run_id = log_run_dir(tmp_path / "run", store)
    (tmp_path / "run" / "tracking.json").unlink()
    assert log_run_dir(tmp_path / "run", store) == run_id
    measure(MlflowTracker(store), tmp_path / "again", "fff000")
    client = open_client(store)
    [model] = client.search_logged_models(experiment_ids(client), "tags.digest = 'fff000'")
    assert [metric.key for metric in model.metrics].count("recall/lenient/year") == 2
