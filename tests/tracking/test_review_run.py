"""A review kept as a run: beside its evaluation, found from it, and continued by more verdicts."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from reno_dspy.base.errors import InputError
from reno_dspy.cli.review import command
from tests.tracking.evaluations import evaluate_scripted
from tracking.lineage import used_by
from tracking.mlflow_tracker import MlflowTracker
from tracking.runs import all_runs, run_id_of
from tracking.store import open_client


def review(*arguments: object) -> str:
    words = [str(one) for one in arguments]
    return CliRunner().invoke(command, words, catch_exceptions=False).stdout


def judge(source: Path, target: Path, verdicts: list[str]) -> Path:
    """The exported table with so many verdicts filled in."""
    with open(source, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row, verdict in zip(rows, verdicts, strict=False):
        row["verdict"] = verdict
    with open(target, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return target


@pytest.fixture
def exported(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The table of all wrong values of a tracked evaluation in `run`."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store)
    evaluate_scripted(tmp_path / "run", MlflowTracker(), "s", wrong=0.5, malformed=0.0)
    review("export", tmp_path / "run", "--n", 999, "--out", tmp_path / "review")
    return tmp_path / "review" / "review.csv"


def test_a_review_leads_to_its_evaluation_and_is_continued(exported: Path, tmp_path: Path) -> None:
    evaluation = str(run_id_of(tmp_path / "run"))
    table = judge(exported, tmp_path / "verdicts.csv", ["wrong"])
    review("import", table)
    judge(exported, table, ["right"] * 999)
    shown = json.loads(review("import", table, "--json"))
    client = open_client()
    [found] = all_runs(client, ("review",))
    assert (found.info.status, found.data.tags["uses.runs"]) == ("FINISHED", evaluation)
    assert (found.data.tags["system"], found.data.tags["profile"]) == ("s", "paper")
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    for field in ("surname", "article-title", "overall"):
        measured = report["overall"] if field == "overall" else report["fields"][field]
        metrics = found.data.metrics
        assert metrics[f"precision/lenient/{field}"] == measured["precision_lenient"]
        assert metrics[f"precision/corrected/{field}"] == 100 * shown[field]["corrected"] == 100
        assert metrics[f"verdicts/wrong/{field}"] == 0
    assert found.data.metrics["precision/corrected/low/overall"] == 100
    given = found.inputs.dataset_inputs[0].dataset
    assert (given.name, given.digest) == (report["data"], report["data_digest"])
    kept = {item.path for item in client.list_artifacts(found.info.run_id)}
    assert {"verdicts.csv", "corrected.json"} <= kept
    users = used_by(client, client.get_run(evaluation))
    assert [link.run.info.run_id for link in users] == [found.info.run_id]


def test_an_evaluation_that_is_elsewhere_is_asked_for(exported: Path, tmp_path: Path) -> None:
    moved = (tmp_path / "run").rename(tmp_path / "moved")
    with pytest.raises(InputError, match=r"--run(.|\n)*--no-tracking"):
        review("import", exported)
    assert "overall" in review("import", exported, "--no-tracking")
    assert all_runs(open_client(), ("review",)) == []
    review("import", exported, "--run", moved)
    assert len(all_runs(open_client(), ("review",))) == 1
