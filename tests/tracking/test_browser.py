"""The real MLflow UI over runs of the real jobs, used by a (headless) person.

RENO_SCREENSHOTS=FOLDER keeps what was seen.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tracking.browser import CHROMIUM, MlflowUi, browser_page, look_at_evaluations
from tests.tracking.evaluations import evaluate_scripted
from tracking.compare.job import compare
from tracking.mlflow_tracker import MlflowTracker
from tracking.runs import all_runs, compare_link, link_of, run_id_of
from tracking.store import open_client

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium (apt install chromium)"),
]


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go."""
    folder = Path(os.environ.get("RENO_SCREENSHOTS") or tmp_path_factory.mktemp("shots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, server: str) -> Iterator[Path]:
    """The folder of two evaluations and their comparison, logged to the server over HTTP."""
    folder = tmp_path_factory.mktemp("ran")
    tracker = MlflowTracker(server)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", server)
        optimize_told(folder / "optimize", tracker)
        evaluate_scripted(folder / "weak", tracker, "weak", wrong=0.5, malformed=0.4)
        evaluate_scripted(folder / "tuned", tracker, "tuned", wrong=0.1, malformed=0.05)
        names = [str(folder / "weak"), str(folder / "tuned")]
        compare(names, tracker, with_published=True, out=folder / "comparison")
        yield folder


def optimize_told(out: Path, tracker: MlflowTracker) -> None:
    """An optimize run as its job tells it, without the hours."""
    with tracker.start("optimize", "two-shot for weak", run_dir=out, config={"seed": 1}) as run:
        for number in range(2):
            with run.child(f"candidate-{number}") as child:
                child.metrics({"dev/score": 0.5 + number / 10})
        run.text("Tag every author.", "prompt.txt")
        run.tags({"makes.prompt": "tuned-prompt"})
        run.describe("Best of 2 candidates on dev.")


def test_evaluations_are_found_and_compared_side_by_side(
    server: str, ran: Path, shots: Path
) -> None:
    values = look_at_evaluations(server, shots)
    assert len(values) >= 2
    assert (shots / "runs.png").stat().st_size > 10_000
    assert (shots / "compare.png").stat().st_size > 10_000


def test_a_run_shows_its_result_data_and_report(server: str, ran: Path, shots: Path) -> None:
    link = str(link_of(ran / "tuned"))
    [run] = [r for r in all_runs(open_client(server)) if r.info.run_id == run_id_of(ran / "tuned")]
    data = run.inputs.dataset_inputs[0].dataset
    with browser_page() as page:
        ui = MlflowUi(page, server, shots)
        ui.read_run(link, ["recall/lenient/surname", "overall lenient recall", "Finished"])
        ui.follow_data(link, data.name, data.digest)
        ui.read_artifact(link, "report.json", '"valid_xml"')


def test_an_optimize_run_shows_its_prompt_and_what_used_it(
    server: str, ran: Path, shots: Path
) -> None:
    link = str(link_of(ran / "optimize"))
    with browser_page() as page:
        ui = MlflowUi(page, server, shots)
        ui.read_run(link, ["Best of 2 candidates on dev.", "candidate-1"])
        ui.read_artifact(link, "prompt.txt", "Tag every author.")


def test_the_comparison_is_found_again(server: str, ran: Path, shots: Path) -> None:
    with browser_page() as page:
        ui = MlflowUi(page, server, shots)
        ui.read_run(str(link_of(ran / "comparison")), ["These runs side by side"])
        ui.read_artifact(str(link_of(ran / "comparison")), "comparison.html", "Table 1: Recall")
        runs = [str(run_id_of(ran / name)) for name in ("weak", "tuned")]
        ui.open(compare_link(runs, [str(link_of(ran / "weak")).split("/")[2]]))
        values = ui.compared_values("recall/lenient/surname")
    client = open_client(server)
    logged = [client.get_run(run).data.metrics["recall/lenient/surname"] for run in runs]
    assert [float(value) for value in values] == logged


@pytest.mark.parametrize("width", [390, 1280])
def test_the_report_reads_well_narrow_and_wide(ran: Path, shots: Path, width: int) -> None:
    requests: list[str] = []
    with browser_page(width=width) as page:
        page.on("request", lambda request: requests.append(request.url))
        page.goto((ran / "comparison" / "comparison.html").as_uri())
        page.screenshot(path=shots / f"report-{width}.png", full_page=True)
        overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        shown = page.inner_text("body")
    assert overflow <= 0
    assert len(requests) == 1, "the page must need nothing but itself"
    assert "Table 4: Precision (strict)" in shown
    assert "tuned against weak" in shown
