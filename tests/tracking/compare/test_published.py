"""The paper's tables as data, and what they say about each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reno_dspy.jats.elements import PAPER_COLUMNS
from reno_dspy.measure.measures import MEASURES
from tracking.compare.published import import_published, published_reports
from tracking.store import open_client

ROUNDING = 0.05  # the tables have one decimal


def test_strict_over_lenient_is_one_factor_for_recall_and_precision() -> None:
    cells = 0
    for report in published_reports():
        for field, one in report.fields.items():
            lenient, strict = (
                [one.value(f"{kind}_{reading}") or 0 for kind in ("recall", "precision")]
                for reading in ("lenient", "strict")
            )
            factors = strict[0] / lenient[0], strict[1] / lenient[1]
            slack = sum(ROUNDING * (1 + f) / top for f, top in zip(factors, lenient, strict=True))
            assert abs(factors[0] - factors[1]) <= slack, (report.system, field)
            assert factors[0] <= 1
            cells += 1
    assert cells == 77


def test_the_numbers_are_those_of_the_paper(shared: Path) -> None:
    paper = (shared / "seed" / "renobench.txt").read_text(encoding="utf-8")
    in_paper = [measure.name for measure in MEASURES if measure.in_paper]
    for number, measure in enumerate(in_paper, start=1):
        table = re.split(rf"\nTable {number}: ", paper)[1]
        for report in published_reports():
            line = next(li for li in table.splitlines() if li.startswith(f"{report.system}\t"))
            values = [report.estimate(field, measure).value for field in PAPER_COLUMNS]
            values = [report.share("valid_xml"), *values]
            assert line.split("\t")[1:] == [f"{value:.1f}" for value in values]


def test_imported_rows_are_runs_tagged_published(store: str) -> None:
    client = open_client(store)
    first = import_published(client)
    assert import_published(client) == first
    assert len(set(first)) == 11
    run = client.get_run(first[4])
    assert run.data.tags["published"] == "true"
    assert run.data.metrics["recall/strict/year"] == pytest.approx(92.8)
    assert run.info.status == "FINISHED"
