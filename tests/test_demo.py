"""The demo, small: every step runs, MLflow's UI shows its runs, and a second demo asks nothing anew."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reno_dspy.cli import main
from tests.tracking.browser import CHROMIUM, look_at_evaluations
from tracking.runs import all_runs
from tracking.server import serving
from tracking.store import open_client

pytestmark = pytest.mark.slow
SIZES = ["--references", "2", "--max-tokens", "24", "--metric-calls", "13", "--steps", "2"]
JOBS = {"build", "evaluate", "optimize", "finetune", "compare"}
Demo = Callable[[], None]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Demo]]:
    """A working directory in which the demo has run once, and the demo itself."""
    folder = tmp_path_factory.mktemp("demo")

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        patch.setattr("sys.argv", ["reno", "demo", *SIZES])
        main()
        yield folder, main


def store_of(folder: Path) -> str:
    return f"sqlite:///{folder / 'mlruns' / 'mlflow.db'}"


def test_every_step_leaves_its_results(demo: tuple[Path, Demo]) -> None:
    runs = demo[0] / "runs" / "demo"
    for name in ("two-shot", "tuned", "crf"):
        report = json.loads((runs / name / "report.json").read_text())
        assert (report["n"], report["errors"]) == (2, 0), name
    tuned = json.loads((runs / "tuned" / "report.json").read_text())
    manifest = json.loads((runs / "finetune" / "adapter" / "manifest.json").read_text())
    assert manifest["digest"].startswith(tuned["identity"]["adapter_digest"])
    assert json.loads((runs / "optimize" / "result.json").read_text())
    assert "+" in (runs / "compare" / "comparison.md").read_text()


def test_every_job_is_a_finished_run(demo: tuple[Path, Demo]) -> None:
    runs = all_runs(open_client(store_of(demo[0])))
    assert {run.data.tags["job"] for run in runs} >= JOBS
    assert {run.info.status for run in runs} == {"FINISHED"}


def test_a_second_demo_reuses_everything(demo: tuple[Path, Demo]) -> None:
    folder, again = demo
    kept = {
        path: path.stat().st_mtime_ns
        for name in ("answers.jsonl", "adapter_model.safetensors", "manifest.json")
        for path in (folder / "runs" / "demo").rglob(name)
    }
    before = {run.info.run_id for run in all_runs(open_client(store_of(folder)))}
    again()
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert {run.info.run_id for run in all_runs(open_client(store_of(folder)))} == before


@pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium (apt install chromium)")
def test_the_ui_shows_its_evaluations_side_by_side(
    demo: tuple[Path, Demo], tmp_path_factory: pytest.TempPathFactory
) -> None:
    shots = Path(os.environ.get("RENO_SCREENSHOTS") or tmp_path_factory.mktemp("shots")) / "demo"
    shots.mkdir(parents=True, exist_ok=True)
    with serving(store_of(demo[0])) as address:
        values = look_at_evaluations(address, shots)
    assert len(values) >= 2
    assert (shots / "compare.png").stat().st_size > 10_000
