"""What the paper's tables say about "strict", derived from them, and that our numbers behave so.

A malformed annotation matches nothing strictly, and its lenient values stay in precision's denominator.
Then strict/lenient is one factor for recall and for precision (DESIGN section 6).
"""

from __future__ import annotations

import random

import pytest

from reno_dspy.jats.citation import FIELDS
from reno_dspy.measure.report import make_report
from tracking.compare.published import published_rows

ROUNDED = 0.05  # the tables have one decimal


def test_published_factors_are_the_same_for_recall_and_precision() -> None:
    cells = 0
    for row in published_rows():
        for name in FIELDS:
            recall = row.recall_strict[name] / row.recall_lenient[name]
            precision = row.precision_strict[name] / row.precision_lenient[name]
            # Relative errors of the four rounded numbers add up.
            measures = (
                row.recall_strict, row.recall_lenient, row.precision_strict, row.precision_lenient,
            )  # fmt: skip
            error = sum(ROUNDED / measure[name] for measure in measures)
            assert recall == pytest.approx(precision, rel=error), (row.model, name)
            cells += 1
    assert cells == 77


def test_our_factors_are_the_same_for_recall_and_precision() -> None:
    generator = random.Random(0)
    records = []
    for i in range(300):
        gold = "".join(f"<{name}>{name} {i % 7}</{name}>" for name in FIELDS)
        said = "".join(
            f"<{name}>{name} {generator.choice((i % 7, 8))}</{name}>" * generator.randint(0, 2)
            for name in FIELDS
        )
        end = "</mixed-citation>" if generator.random() < 0.7 else ""
        records.append(
            {
                "xml": f"<mixed-citation>{gold}</mixed-citation>",
                "prediction": f"<mixed-citation>{said}{end}",
            }
        )
    report = make_report(records)
    assert 60 < (report.valid_xml or 0) < 80
    for one in report.fields.values():
        assert one.strict < one.lenient
        recall = (one.recall_strict or 0) / (one.recall_lenient or 1)
        precision = (one.precision_strict or 0) / (one.precision_lenient or 1)
        assert recall == pytest.approx(precision, rel=1e-4)
