"""Strict scores: a malformed annotation matches nothing, but its values stay in precision's denominator.

Then strict/lenient is one factor for recall and for precision, as in the published tables
(`tests/tracking/compare/test_published.py`).
"""

from __future__ import annotations

import random

import pytest

from reno_dspy.jats.elements import SCORED
from reno_dspy.measure.report import make_report


def test_our_factors_are_the_same_for_recall_and_precision() -> None:
    generator = random.Random(0)
    records = []
    for i in range(300):
        gold = "".join(f"<{name}>{name} {i % 7}</{name}>" for name in SCORED)
        said = "".join(
            f"<{name}>{name} {generator.choice((i % 7, 8))}</{name}>" * generator.randint(0, 2)
            for name in SCORED
        )
        end = "</mixed-citation>" if generator.random() < 0.7 else ""
        records.append(
            {
                "xml": f"<mixed-citation>{gold}</mixed-citation>",
                "prediction": f"<mixed-citation>{said}{end}",
            }
        )
    report = make_report(records)
    assert 60 < (report.share("valid_xml") or 0) < 80
    for one in report.fields.values():
        assert one.counts["strict"] < one.counts["lenient"]
        recall = (one.value("recall_strict") or 0) / (one.value("recall_lenient") or 1)
        precision = (one.value("precision_strict") or 0) / (one.value("precision_lenient") or 1)
        assert recall == pytest.approx(precision, rel=1e-4)
