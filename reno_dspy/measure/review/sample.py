"""Review of wrong values by a human: the paper's study of 330 errors as one command.

    reno review export runs/qwen --n 330 --out review
    reno review import verdicts.csv

A predicted value without a match in the gold is "wrong", though often the gold is what lacks it (paper
section 3: 92 % of such years). A sample of them, the same number from every field where there are
enough, goes to a page for judging; verdicts read back give the corrected precision.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reno_dspy.base.errors import InputError
from reno_dspy.base.jsonl import JsonlLog
from reno_dspy.base.rundir import read_config
from reno_dspy.jats.citation import read
from reno_dspy.jats.elements import SCORED
from reno_dspy.measure.files import PREDICTIONS
from reno_dspy.measure.metric import CitationScore
from reno_dspy.measure.report import score_records
from reno_dspy.measure.review import page
from reno_dspy.measure.review.page import Judging
from reno_dspy.measure.review.table import read_table, verdict_of
from reno_dspy.measure.stats import Interval, Reviewed, corrected_precision

# What a table must still have when it comes back.
REQUIRED = frozenset({"field", "totals"})
COLUMNS = (
    "id",
    "field",
    "value",
    "verdict",
    "note",
    "reference",
    "gold_values",
    "gold_xml",
    "prediction",
    "totals",
    "run",
    "profile",
)


@dataclass(frozen=True)
class Finding:
    """One predicted value without a match in the gold, and what a reviewer needs to judge it."""

    id: str
    field: str
    value: str
    reference: str
    gold_values: tuple[str, ...]
    gold_xml: str
    prediction: str


@dataclass(frozen=True)
class Sample:
    """Findings to judge; `totals` counts every field's (matched, wrong) values in the whole `run`."""

    findings: tuple[Finding, ...]
    totals: Mapping[str, tuple[int, int]]
    profile: str
    run: Path


@dataclass(frozen=True)
class Corrected:
    """One field's review: counts, precision as measured and as corrected, with its interval."""

    matched: int
    wrong: int
    right_verdicts: int
    wrong_verdicts: int
    unclear: int
    precision: float | None
    corrected: float | None
    interval: Interval | None


def draw(run: Path, n: int = 330, seed: int = 0, profile: str | None = None) -> Sample:
    """Draw `n` wrong values of an evaluation run, spread evenly over the fields.

    `profile` is the run's own unless named. Raises InputError when `run` is not an evaluation or has
    no wrong value.
    """
    records = JsonlLog(run / PREDICTIONS).read()
    if not records:
        raise InputError(f"{run} holds no predictions.jsonl with answers; is it an evaluation?")
    profile = profile or str(read_config(run)["config"].get("profile", "paper"))
    scores = score_records(records, profile)
    found = _findings(records, scores)
    if not found:
        raise InputError(f"{run} has no wrong value to review (profile {profile}).")
    return Sample(tuple(_stratified(found, n, seed)), _totals(scores), profile, run)


def export(sample: Sample, out: Path) -> tuple[Path, Path]:
    """Write `review.csv` and `review.html` into `out`; return both paths.

    Raises InputError when `out` already has a review, whose verdicts would be lost.
    """
    return page.export(_judging(sample), out, "review")


def read_verdicts(path: Path) -> dict[str, Corrected]:
    """The corrected precision by field, and over all fields as `overall`, from a table of verdicts.

    A field in which nothing was judged has None, and so has `overall` then. Values called unclear do
    not count. Raises InputError naming the line that cannot be read.
    """
    rows = read_table(path, REQUIRED)
    totals = _read_totals(rows[0]["totals"], path)
    verdicts: dict[str, Counter[str]] = {field: Counter() for field in totals}
    for number, row in enumerate(rows, start=2):
        if row["field"] not in verdicts:
            raise InputError(f"{path}:{number}: no field {row['field']!r} in this review.")
        verdicts[row["field"]][verdict_of(row, f"{path}:{number}")] += 1
    for field, (_, wrong) in totals.items():
        judged = sum(verdicts[field][verdict] for verdict in ("right", "wrong"))
        if judged > wrong:
            raise InputError(
                f"{path} judges {judged} values of {field}, but the run has only {wrong} wrong ones: "
                "rows or the column `totals` were changed. Judge the table as exported."
            )
    return _correct(totals, verdicts)


def _correct(
    totals: Mapping[str, tuple[int, int]], verdicts: Mapping[str, Counter[str]]
) -> dict[str, Corrected]:
    strata = {
        field: Reviewed(
            right=matched,
            wrong=wrong,
            reviewed=verdicts[field]["right"] + verdicts[field]["wrong"],
            accepted=verdicts[field]["right"],
        )
        for field, (matched, wrong) in totals.items()
    }
    result = {
        field: _corrected([stratum], verdicts[field]["unclear"])
        for field, stratum in strata.items()
    }
    unclear = sum(counts["unclear"] for counts in verdicts.values())
    result["overall"] = _corrected(list(strata.values()), unclear)
    return result


def _corrected(strata: Sequence[Reviewed], unclear: int) -> Corrected:
    matched, wrong = sum(s.right for s in strata), sum(s.wrong for s in strata)
    accepted, reviewed = sum(s.accepted for s in strata), sum(s.reviewed for s in strata)
    found = corrected_precision(strata)
    return Corrected(
        matched=matched,
        wrong=wrong,
        right_verdicts=accepted,
        wrong_verdicts=reviewed - accepted,
        unclear=unclear,
        precision=matched / (matched + wrong) if matched + wrong else None,
        corrected=found[0] if found else None,
        interval=found[1] if found else None,
    )


def _findings(
    records: Sequence[Mapping[str, Any]], scores: Sequence[CitationScore]
) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for index, (record, score) in enumerate(zip(records, scores, strict=True)):
        gold = read(record["xml"]).lenient
        for field in SCORED:
            for number, value in enumerate(score.fields[field].wrong):
                finding = Finding(
                    id=f"{index}-{field}-{number}",
                    field=field,
                    value=value,
                    reference=record.get("plaintext") or "",
                    gold_values=gold[field],
                    gold_xml=record["xml"],
                    prediction=record["prediction"],
                )
                found.setdefault(field, []).append(finding)
    return found


def _stratified(found: Mapping[str, list[Finding]], n: int, seed: int) -> list[Finding]:
    """About n / fields from each field; what a small field lacks is spread over the others."""
    drawn: list[Finding] = []
    generator = random.Random(seed)
    by_size = sorted(found, key=lambda field: (len(found[field]), field))
    for left, field in zip(range(len(by_size), 0, -1), by_size, strict=True):
        share = -(-(n - len(drawn)) // left)
        drawn += generator.sample(found[field], min(share, len(found[field])))
    order = {field: number for number, field in enumerate(SCORED)}
    return sorted(drawn, key=lambda finding: (order[finding.field], int(finding.id.split("-")[0])))


def _totals(scores: Sequence[CitationScore]) -> dict[str, tuple[int, int]]:
    totals = {}
    for field in SCORED:
        matched = sum(score.fields[field].lenient for score in scores)
        wrong = sum(len(score.fields[field].wrong) for score in scores)
        totals[field] = (matched, wrong)
    return totals


def _rows(sample: Sample) -> list[dict[str, str]]:
    totals = "; ".join(f"{name} {a} {b}" for name, (a, b) in sample.totals.items())
    return [
        {
            "id": finding.id,
            "field": finding.field,
            "value": finding.value,
            "verdict": "",
            "note": "",
            "reference": finding.reference,
            "gold_values": " | ".join(finding.gold_values),
            "gold_xml": finding.gold_xml,
            "prediction": finding.prediction,
            "totals": totals,
            "run": str(sample.run),
            "profile": sample.profile,
        }
        for finding in sample.findings
    ]


def _judging(sample: Sample) -> Judging:
    return Judging(
        title="Review of wrong values",
        question="Is the value what the reference says of this field? Then it is right, whatever the "
        "gold has.",
        columns=COLUMNS,
        facts=(
            ("Field", "field"),
            ("Predicted value", "value"),
            ("Reference", "reference"),
            ("Gold values", "gold_values"),
        ),
        details=(("Gold XML", "gold_xml"), ("Prediction", "prediction")),
        verdicts={"right": "Right, gold lacks it", "wrong": "Wrong", "unclear": "Unclear"},
        rows=_rows(sample),
    )


def _read_totals(text: str, path: Path) -> dict[str, tuple[int, int]]:
    try:
        parts = [part.split() for part in text.split(";")]
        return {name: (int(matched), int(wrong)) for name, matched, wrong in parts}
    except ValueError:
        raise InputError(
            f"{path}: column `totals` was changed; it must stay as exported."
        ) from None
