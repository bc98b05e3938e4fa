"""The demo, small: every step runs, MLflow's UI shows its runs, and a second demo asks nothing anew."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reno_dspy.cli import main
from reno_dspy.jats.elements import SCORED
from reno_dspy.measure.measures import MEASURES, SHARES
from reno_dspy.measure.result import OVERALL
from tests.tracking.browser import CHROMIUM, MlflowUi, browser_page
from tests.tracking.run_files import (
    logged,
    losses,
    of_build,
    of_candidates,
    of_evaluation,
    of_finetune,
    of_optimize,
)
from tracking.runs import all_runs, link_of, run_id_of, run_link
from tracking.server import serving
from tracking.store import open_client

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
SIZES = ["--references", "2", "--max-tokens", "24", "--metric-calls", "7", "--steps", "2"]
EVALUATIONS = ("two-shot", "tuned", "crf")
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
    reports = {name: json.loads((runs / name / "report.json").read_text()) for name in EVALUATIONS}
    assert {name: (one["n"], one["errors"]) for name, one in reports.items()} == {
        "two-shot": (2, 0), "crf": (79, 0), "tuned": (79, 0)
    }  # fmt: skip
    manifest = json.loads((runs / "finetune" / "model" / "manifest.json").read_text())
    assert manifest["digest"].startswith(reports["tuned"]["identity"]["model_digest"])
    assert json.loads((runs / "optimize" / "result.json").read_text())
    assert "+" in (runs / "compare" / "comparison.md").read_text()


def test_every_job_is_a_finished_run(demo: tuple[Path, Demo]) -> None:
    runs = all_runs(open_client(store_of(demo[0])))
    assert {run.data.tags["job"] for run in runs} >= JOBS
    assert {run.info.status for run in runs} == {"FINISHED"}


def test_a_second_demo_reuses_everything(demo: tuple[Path, Demo]) -> None:
    folder, again = demo

    def files(*patterns: str) -> list[Path]:
        found = [list((folder / "runs" / "demo").rglob(pattern)) for pattern in patterns]
        assert all(found)
        return [path for paths in found for path in paths]

    work = {path: path.stat().st_mtime_ns for path in files("answers.jsonl", "*.onnx")}
    manifests = {path: path.read_text() for path in files("manifest.json")}
    before = {run.info.run_id for run in all_runs(open_client(store_of(folder)))}
    again()
    assert work == {path: path.stat().st_mtime_ns for path in work}
    assert manifests == {path: path.read_text() for path in manifests}
    assert {run.info.run_id for run in all_runs(open_client(store_of(folder)))} == before


def test_metrics_in_mlflow_equal_the_files_of_every_run(demo: tuple[Path, Demo]) -> None:
    folder = demo[0] / "runs" / "demo"
    client = open_client(store_of(demo[0]))
    readers = {"data": of_build, "optimize": of_optimize, "finetune": of_finetune}
    for name, read in {**readers, **dict.fromkeys(EVALUATIONS, of_evaluation)}.items():
        metrics = client.get_run(str(run_id_of(folder / name))).data.metrics
        assert logged(metrics) == read(folder / name), name
    parent = run_id_of(folder / "optimize")
    nested = [r for r in all_runs(client) if r.data.tags.get("mlflow.parentRunId") == parent]
    candidates = {run.info.run_name: logged(run.data.metrics) for run in nested}
    assert candidates == of_candidates(folder / "optimize")
    history = client.get_metric_history(run_id_of(folder / "finetune"), "train/loss")
    assert {point.step: point.value for point in history} == losses(folder / "finetune")


def test_the_comparison_in_mlflow_equals_the_runs_that_it_used(
    demo: tuple[Path, Demo], tmp_path: Path
) -> None:
    client = open_client(store_of(demo[0]))
    kept = client.get_run(str(run_id_of(demo[0] / "runs" / "demo" / "compare")))
    used = [client.get_run(one) for one in kept.data.tags["uses.runs"].split()]
    names = {
        (measure.name, field): f"{measure.metric}/{field}"
        for measure in MEASURES
        for field in (*SCORED, OVERALL)
    } | {(share.name, ""): share.name for share in SHARES}
    logged_cells = {
        (run.data.tags["system"], *cell): run.data.metrics.get(metric)
        for run in used
        for cell, metric in names.items()
    }
    path = client.download_artifacts(kept.info.run_id, "comparison.csv", str(tmp_path))
    with open(path, encoding="utf-8") as file:
        cells = {
            (row["model"], row["measure"], row["field"]): float(row["value"])
            if row["value"]
            else None
            for row in csv.DictReader(file)
            if row["published"] == "False"
        }
    assert cells == logged_cells


@pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium (apt install chromium)")
def test_a_person_finds_and_compares_the_runs_and_opens_what_they_hold(
    demo: tuple[Path, Demo], tmp_path_factory: pytest.TempPathFactory
) -> None:
    shots = Path(os.environ.get("RENO_SCREENSHOTS") or tmp_path_factory.mktemp("shots")) / "demo"
    shots.mkdir(parents=True, exist_ok=True)
    folder = demo[0] / "runs" / "demo"
    client = open_client(store_of(demo[0]))
    crf, tuned = (client.get_run(str(run_id_of(folder / name))) for name in ("crf", "tuned"))
    data = crf.inputs.dataset_inputs[0].dataset
    metric = "recall/lenient/surname"
    with serving(store_of(demo[0])) as address, browser_page() as page:
        ui = MlflowUi(page, address, shots)
        found = [str(run.info.run_name) for run in (crf, tuned)]
        experiment = ui.find_experiment("reno/evaluate")
        ui.filter_runs(experiment, "tags.system != 'smollm2-135m'", found)
        values = ui.compare_all_listed(metric)
        ui.read_run(run_link(crf), [metric, "overall lenient recall", "Made from"])
        ui.follow_data(run_link(crf), data.name, data.digest)
        ui.read_artifact(run_link(crf), "report.json", '"valid_xml"')
        ui.read_artifact(str(link_of(folder / "optimize")), "prompt.json", "You tag bibliographic")
    logged_values = [run.data.metrics[metric] for run in (crf, tuned)]
    # The page shows values rounded.
    assert sorted(map(float, values)) == pytest.approx(sorted(logged_values), rel=1e-3)
    for name in ("runs", "compare", "run", "data", "artifact-report-json", "artifact-prompt-json"):
        assert (shots / f"{name}.png").stat().st_size > 10_000, name
