"""`reno ui` serves the store and stops without leaving anything behind, even in the midst of a job."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from reno_dspy.data.dataset import Dataset
from reno_dspy.measure.job import EvaluateConfig, evaluate
from reno_dspy.systems import Completion
from tests.tracking.evaluations import Scripted, evaluate_scripted, made_up_rows
from tracking.mlflow_tracker import MlflowTracker, log_run_dir
from tracking.store import open_client

pytestmark = pytest.mark.slow


class Ui:
    """A running `reno ui`."""

    def __init__(self, store: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from reno_dspy.cli import main; main()", "ui", "--port", "0"],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "MLFLOW_TRACKING_URI": store},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.said = ""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line
            if line.startswith("Ctrl-C"):
                break
        self.address = re.findall(r"http://127\.0\.0\.1:\d+", self.said)[0]

    def end(self) -> None:
        """Stop it as a service manager does."""
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=300)


@pytest.fixture
def ui(store: str, tmp_path: Path) -> Iterator[Ui]:
    """`reno ui` over a store with two evaluations."""
    for name in ("one", "two"):
        evaluate_scripted(tmp_path / name, MlflowTracker(store), name)
    ui = Ui(store)
    yield ui
    if ui.process.poll() is None:
        ui.end()


class Ending(Scripted):
    """A system during whose third call the tracking server is ended."""

    def __init__(self, ui: Ui) -> None:
        super().__init__("midway", made_up_rows(40), 0.2, 0.1, "Tag it.")
        self._ui = ui
        self._calls = 0
        self._lock = threading.Lock()

    async def annotate(self, references: Sequence[str]) -> list[Completion]:
        """As scripted."""
        with self._lock:
            self._calls += 1
            if self._calls == 3:
                self._ui.end()
        return await super().annotate(references)


def processes() -> str:
    command = ["ps", "-eo", "args"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_server_that_goes_away_midway_costs_nothing(
    ui: Ui, store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "Last two, compared" in ui.said
    assert urllib.request.urlopen(f"{ui.address}/health").status == 200
    out = tmp_path / "midway"
    data = Dataset(made_up_rows(40), name="made-up", path="data/made-up", split="test")
    config = EvaluateConfig(system="midway", data="data/made-up", out=out)
    report = evaluate(config, Ending(ui), data, MlflowTracker(ui.address))
    assert report.n == 40
    assert capsys.readouterr().err.count("cannot be used") == 1
    assert ui.process.returncode == 0
    while store in processes():  # a killed process may take its time; the test's limit ends this
        time.sleep(0.1)

    run_id = log_run_dir(out, store)
    assert log_run_dir(out, store) == run_id
    client = open_client(store)
    experiment = client.get_experiment_by_name("reno/evaluate").experiment_id
    found = [r for r in client.search_runs([experiment]) if r.data.tags["system"] == "midway"]
    assert [run.info.run_id for run in found] == [run_id]
    assert found[0].info.status == "FINISHED"
    expected = {name: v for name, v in report.to_metrics().items() if v is not None}
    assert {name: found[0].data.metrics[name] for name in expected} == expected
    for name in expected:
        assert len(client.get_metric_history(run_id, name)) == 1
    assert len(found[0].inputs.dataset_inputs) == 1
    # What was sent before the server went lies where that server kept its artifacts; the rest is added.
    assert {"config.json", "report.json"} <= {a.path for a in client.list_artifacts(run_id)}
