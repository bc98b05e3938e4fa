"""The report on ten made-up references, counted by hand on paper: an independent check of the metric.

What is wrong in the answers: a stop too few after initials and one too many after a title (2), two people
in one `string-name` (3), an editor among the authors and a chapter title as an article's (4), no closing
tag (5), a volume inside the source and a DOI as a link (6), the type and a page count (7), no answer (8),
month, day and `et al.` unseen, an invented volume and an empty issue (9), label and suffix unseen (10).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from reno_dspy.cli.score import command
from reno_dspy.measure.fields import FIELD_SETS
from reno_dspy.measure.records import read_predictions
from reno_dspy.measure.report import make_report

FILE = Path(__file__).with_name("ten_references.jsonl")

# Of each field: values in the gold, in the answers, matched leniently and strictly.
SEVEN = {
    "surname": (12, 11, 11, 10),
    "given-names": (12, 11, 10, 9),
    "article-title": (8, 8, 7, 6),
    "source": (9, 8, 8, 8),
    "volume": (6, 5, 4, 4),
    "issue": (2, 3, 2, 2),
    "year": (10, 9, 9, 8),
}
OTHERS = {
    "fpage": (7, 7, 6, 6),
    "lpage": (4, 4, 4, 4),
    "collab": (1, 1, 1, 1),
    "publisher-name": (1, 1, 1, 1),
    "publisher-loc": (1, 1, 1, 1),
    "chapter-title": (1, 0, 0, 0),
    "size": (1, 0, 0, 0),
    "pub-id": (1, 0, 0, 0),
    "uri": (0, 1, 0, 0),
    "month": (1, 0, 0, 0),
    "day": (1, 0, 0, 0),
    "etal": (1, 0, 0, 0),
    "suffix": (1, 0, 0, 0),
    "label": (1, 0, 0, 0),
    "publication-type": (10, 8, 6, 6),
    "edition": (0, 0, 0, 0),
}
COUNTS = ("gold", "pred", "lenient", "strict")


def test_every_field_is_counted_as_by_hand() -> None:
    report = make_report(read_predictions(FILE), fields=FIELD_SETS["all"])
    found = {name: tuple(one.counts[c] for c in COUNTS) for name, one in report.fields.items()}
    assert {name: found[name] for name in SEVEN | OTHERS} == SEVEN | OTHERS
    assert tuple(report.overall.counts[c] for c in COUNTS) == (59, 55, 51, 47)
    punctuation = {n: c for n, one in report.fields.items() if (c := one.counts["punctuation"])}
    assert punctuation == {"given-names": 1, "article-title": 1}


@pytest.mark.parametrize(
    ("profile", "people", "whole"), [("paper", 4 / 9, 4 / 10), ("normalized", 5 / 9, 6 / 10)]
)
def test_people_and_whole_references_are_right_as_by_hand(
    profile: str, people: float, whole: float
) -> None:
    report = make_report(read_predictions(FILE), profile)
    assert report.share("people_right") == pytest.approx(100 * people, abs=1e-4)
    assert report.share("whole_right") == pytest.approx(100 * whole, abs=1e-4)
    low, high = report.shares["whole_right"].ends or (100, 0)
    assert low <= 100 * whole <= high
    assert report.slices["language"]["en"].shares == {
        name: report.shares[name] for name in ("people_right", "whole_right")
    }


def test_other_shares_are_as_by_hand() -> None:
    report = make_report(read_predictions(FILE))
    assert report.share("all_authors") == pytest.approx(100 * 7 / 9, abs=1e-4)
    assert (report.share("valid_xml"), report.share("fidelity")) == (80.0, 80.0)
    assert (report.errors, report.n) == (1, 10)


def test_more_fields_leave_the_scored_ones_as_they_are() -> None:
    records = read_predictions(FILE)
    few, all_ = make_report(records), make_report(records, fields=FIELD_SETS["all"])
    assert few.fields == {name: all_.fields[name] for name in few.fields}
    assert (few.overall, few.shares) == (all_.overall, all_.shares)


def test_the_command_prints_what_was_found(tmp_path: Path) -> None:
    shown = CliRunner().invoke(command, [str(FILE), "--fields", "all"], catch_exceptions=False)
    lines = {line.split()[0]: line.split() for line in shown.output.splitlines() if line.strip()}
    assert lines["publication-type"][1:3] == ["10", "60.0"]
    assert "edition" not in lines, "neither gold nor answers have one"
    assert "2 values differ from the gold's by punctuation at their ends alone" in shown.output
    said = CliRunner().invoke(command, [str(FILE), "--fields", "all", "--json"])
    assert json.loads(said.output)["fields"]["edition"]["gold"] == 0
