"""The paper's tables as data, and what they say about each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reno_dspy.jats.citation import FIELDS
from tracking.compare.published import import_published, published_rows
from tracking.compare.results import MEASURES
from tracking.store import open_client

ROUNDING = 0.05  # the tables have one decimal


def test_strict_over_lenient_is_one_factor_for_recall_and_precision() -> None:
    cells = 0
    for row in published_rows():
        for field in FIELDS:
            lenient = row.recall_lenient[field], row.precision_lenient[field]
            strict = row.recall_strict[field], row.precision_strict[field]
            factors = strict[0] / lenient[0], strict[1] / lenient[1]
            slack = sum(ROUNDING * (1 + f) / top for f, top in zip(factors, lenient, strict=True))
            assert abs(factors[0] - factors[1]) <= slack, (row.model, field)
            assert factors[0] <= 1
            cells += 1
    assert cells == 77


def test_the_numbers_are_those_of_the_paper(shared: Path) -> None:
    paper = (shared / "seed" / "renobench.txt").read_text(encoding="utf-8")
    for number, measure in enumerate(MEASURES, start=1):
        table = re.split(rf"\nTable {number}: ", paper)[1]
        for row in published_rows():
            line = next(li for li in table.splitlines() if li.startswith(f"{row.model}\t"))
            values = [row.valid_xml, *getattr(row, measure).values()]
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
