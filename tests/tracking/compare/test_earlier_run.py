"""Run directories of version 0.1: they are read, compared and resumed, and their numbers hold.

One was made by `reno evaluate --system crf --data data.jsonl --out run`, the other (`weak_run_of_0.1`) by
the scripted system of `tests/tracking/evaluations.py`, with wrong and malformed answers.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reno_dspy.base.errors import InputError
from reno_dspy.base.rundir import read_config
from reno_dspy.base.tracker import NullTracker
from reno_dspy.cli.main import group
from reno_dspy.data.dataset import load
from reno_dspy.measure.job import EvaluateConfig, evaluate
from reno_dspy.systems import Completion
from tracking.compare.results import load_results

EARLIER = Path(__file__).parents[2] / "data" / "run_of_0.1"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(EARLIER, tmp_path / "earlier")
    monkeypatch.chdir(tmp_path / "earlier")
    return Path("run")


class SameSystem:
    """The system of that run by its identity; it knows the gold by heart."""

    name = "crf"
    batch_size = 1
    concurrency = 1

    def __init__(self) -> None:
        self.asked = 0
        self._gold = {row.plaintext: row.xml for row in load("data.jsonl").rows}

    def identity(self) -> Mapping[str, str]:
        known: dict[str, Any] = json.loads((EARLIER / "run" / "config.json").read_text())
        return dict(known["config"]["system_identity"])

    async def start(self) -> None:
        """There is nothing to load."""

    async def annotate(self, references: Sequence[str]) -> list[Completion]:
        self.asked += len(references)
        return [Completion(self._gold[reference]) for reference in references]


def config(**options: Any) -> EvaluateConfig:
    given = {"system": "crf", "data": "data.jsonl", "out": Path("run")}
    return EvaluateConfig.model_validate(given | options)


def test_it_is_compared_and_scored(run: Path) -> None:
    [result] = load_results([str(run)])
    report = json.loads((run / "report.json").read_text())
    assert (result.report.n, result.report.data_digest) == (20, load("data.jsonl").digest)
    recall = result.report.estimate("year", "recall_lenient")
    assert recall.value == report["fields"]["year"]["recall_lenient"]
    new = config(out=Path("new"))
    evaluate(new, SameSystem(), load("data.jsonl"), NullTracker())
    for arguments in (["compare", "run", "new", "--out", "c", "--no-tracking"], ["score", "run"]):
        shown = CliRunner().invoke(group, arguments, catch_exceptions=False)
        assert shown.exit_code == 0
        assert f"{report['valid_xml']:.1f}" in shown.output


def test_it_resumes(run: Path) -> None:
    (run / "report.json").unlink()
    lines = (run / "predictions.jsonl").read_text().splitlines(keepends=True)
    (run / "predictions.jsonl").write_text("".join(lines[:15]) + lines[15][:40])
    system = SameSystem()
    report = evaluate(config(), system, load("data.jsonl"), NullTracker())
    assert (system.asked, report.n) == (5, 20)
    assert read_config(run)["depends_on"]["data_digest"] == load("data.jsonl").digest


def test_other_data_are_refused(run: Path) -> None:
    with pytest.raises(InputError, match=r"data_digest: '\w{16}' -> '\w{16}'(.|\n)*--fresh"):
        evaluate(config(), SameSystem(), load("data.jsonl", limit=7), NullTracker())
