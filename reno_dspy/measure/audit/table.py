"""Findings as rows to be judged, on a page and in a table, and read back with their verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from reno_dspy.measure.audit.findings import Finding
from reno_dspy.measure.fields import PUBLICATION_TYPE
from reno_dspy.measure.review import page
from reno_dspy.measure.review.page import Judging
from reno_dspy.measure.review.table import read_table, verdict_of

NAME = "audit"
COLUMNS = (
    "id",
    "sure",
    "field",
    "value",
    "replaces",
    "agreed_by",
    "verdict",
    "note",
    "reference",
    "gold_xml",
    "row",
    "start",
    "end",
    "role",
)
# What a table must still have when it comes back: by `agreed_by` it is known from other reviews.
REQUIRED = frozenset(COLUMNS) - {"note"}


def export(findings: Sequence[Finding], out: Path) -> tuple[Path, Path]:
    """Write `audit.csv` and `audit.html` into `out`; return both paths.

    Raises InputError when `out` already has an audit, whose verdicts would be lost.
    """
    judging = Judging(
        title="Audit of the gold",
        question="Does the reference say so? Then the value is right, and the gold is wrong.",
        columns=COLUMNS,
        facts=(
            ("Element", "field"),
            ("Value", "value"),
            ("Instead of", "replaces"),
            ("Reference", "reference"),
            ("Agreed by", "agreed_by"),
            ("Sure", "sure"),
        ),
        details=(("Gold XML", "gold_xml"),),
        verdicts={"right": "Right, the gold errs", "wrong": "Wrong", "unclear": "Unclear"},
        rows=[_row(number, finding) for number, finding in enumerate(findings, start=1)],
    )
    return page.export(judging, out, NAME)


def is_audit(header: str) -> bool:
    """Whether the first line of a table is that of an audit."""
    return "agreed_by" in header


def read(path: Path) -> list[dict[str, str]]:
    """The rows of an audit, each with one of the VERDICTS or "" as its verdict.

    Raises InputError naming the line that cannot be read.
    """
    rows = read_table(path, REQUIRED)
    for number, row in enumerate(rows, start=2):
        row["verdict"] = verdict_of(row, f"{path}:{number}")
    return rows


def _row(number: int, finding: Finding) -> Mapping[str, str]:
    start, end = finding.place[:2] if finding.place else ("", "")
    record = finding.ballot.record
    return {
        "id": str(number),
        "sure": f"{finding.sure:.3f}",
        "field": finding.field,
        "value": finding.value,
        "replaces": " | ".join(finding.replaces),
        "agreed_by": ", ".join(sorted(finding.supporters)),
        "verdict": "",
        "note": "",
        "reference": finding.ballot.text,
        "gold_xml": record["xml"],
        "row": str(record.get("id") or ""),
        "start": str(start),
        "end": str(end),
        "role": "" if finding.field == PUBLICATION_TYPE else finding.role,
    }
