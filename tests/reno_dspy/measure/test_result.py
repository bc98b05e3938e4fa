"""One model of a result: what is written is read back, and what was measured earlier stays as it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reno_dspy.base.errors import InputError
from reno_dspy.measure.fields import FIELD_SETS
from reno_dspy.measure.records import read_predictions
from reno_dspy.measure.report import make_report
from reno_dspy.measure.result import Estimate, Report, read_report

DATA = Path(__file__).parents[2] / "data"
EARLIER = [DATA / "weak_run_of_0.1", DATA / "run_of_0.1" / "run"]


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Where a value of `old` is another one in `new`; keys that only `new` has are let through."""
    if isinstance(old, dict):
        for key, value in old.items():
            yield from differences(value, new.get(key, "absent"), f"{path}/{key}")
    elif old != new:
        yield path


def as_json(report: Report) -> Any:
    return json.loads(json.dumps(report.to_json()))


@pytest.mark.parametrize("fields", ["scored", "all"])
def test_a_report_reads_what_it_writes(fields: Any) -> None:
    file = Path(__file__).with_name("ten_references.jsonl")
    report = make_report(read_predictions(file), fields=FIELD_SETS[fields], system="s", data="d")
    assert Report.from_json(as_json(report)) == report


@pytest.mark.parametrize("run", EARLIER, ids=lambda run: run.name)
def test_numbers_of_an_earlier_version_are_the_same_to_the_digit(run: Path) -> None:
    old = json.loads((run / "report.json").read_text())
    origin = {name: old[name] for name in ("system", "identity", "data", "data_digest")}
    new = as_json(make_report(read_predictions(run), **origin))
    # It wrote 0 tokens where no answer came with a count.
    unknown = {f"/{name}" for name in ("prompt_tokens", "completion_tokens") if not old[name]}
    assert set(differences(old, new)) == unknown
    assert all(new[name.removeprefix("/")] is None for name in unknown)


@pytest.mark.parametrize("run", EARLIER, ids=lambda run: run.name)
def test_a_report_of_an_earlier_version_is_read(run: Path) -> None:
    old, read = json.loads((run / "report.json").read_text()), read_report(run)
    assert read.estimate("year", "recall_strict") == Estimate(
        old["fields"]["year"]["recall_strict"], *old["fields"]["year"]["intervals"]["recall_strict"]
    )
    assert read.share("fidelity") == old["fidelity"]
    assert read.share("whole_right") is None, "not measured then"
    assert read.slices["source"].keys() == old["slices"]["source"].keys()
    assert read.prompt_tokens is None


def test_metrics_hold_what_tables_need() -> None:
    report = read_report(EARLIER[0])
    metrics = {name: value for name, value in report.to_metrics().items() if value is not None}
    found = Report.from_metrics(metrics, profile="paper", system="s")
    for field in report.fields:
        for measure in ("recall_lenient", "precision_strict"):
            expected = report.estimate(field, measure).value
            assert found.estimate(field, measure).value == expected
    assert found.shares == report.shares
    assert (found.n, found.completion_tokens, found.cost) == (report.n, 360, None)


@pytest.mark.parametrize("text", ["", "[]", '{"n": 3}', '{"fields": {"year": 3}}'])
def test_what_is_no_report_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(InputError, match="not a report"):
        read_report(tmp_path)
    with pytest.raises(InputError, match="no finished evaluation"):
        read_report(tmp_path / "elsewhere")


ADDED = """
import sys
from dataclasses import replace
import reno_dspy.jats.elements as elements
import reno_dspy.measure.measures as measures

# A scored field and a measure more, each in its one place, before anything else is loaded.
elements.ELEMENTS = tuple(
    replace(one, scored=one.scored or one.name == "publisher-name") for one in elements.ELEMENTS
)
elements.SCORED = tuple(one.name for one in elements.ELEMENTS if one.scored)
measures.MEASURES += (measures.Measure("made_up", "Made up", "strict", "restricted", in_paper=False),)

from pathlib import Path
from click.testing import CliRunner
from reno_dspy.base.tracker import NullTracker
from reno_dspy.cli.leaderboard import RANKED_BY
from reno_dspy.cli.main import group
from tests.tracking.evaluations import evaluate_scripted

for name in ("one", "two"):
    report = evaluate_scripted(Path(name), NullTracker(), name)
assert "made/up/publisher-name" in report.to_metrics()
assert "made_up" in RANKED_BY
arguments = ["compare", "one", "two", "--published", "--out", "c", "--no-tracking"]
shown = CliRunner().invoke(group, arguments, catch_exceptions=False)
print(shown.output)
"""


def test_a_measure_and_a_field_are_added_in_one_place_each(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ADDED], cwd=tmp_path, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[3])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Made up" in done.stdout
    for form in ("md", "html", "csv"):
        text = (tmp_path / "c" / f"comparison.{form}").read_text()
        assert ("made_up" if form == "csv" else "Made up") in text
    assert "publisher-name" in (tmp_path / "c" / "comparison.csv").read_text()
