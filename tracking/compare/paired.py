"""Is a difference between two runs more than noise? Paired, on the references that both answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reno_dspy.base.files import digest
from reno_dspy.jats.citation import FIELDS
from reno_dspy.measure.report import count_arrays, score_records
from reno_dspy.measure.stats import Paired, in_words, paired_difference
from tracking.compare.results import Result

OVERALL = "overall"


@dataclass(frozen=True)
class Comparison:
    """A run against the first one: lenient recall by field and overall, run minus first, in 0..1."""

    label: str
    baseline: str
    n: int
    articles: int
    fields: Mapping[str, Paired | None]


def compare_with_first(results: Sequence[Result]) -> list[Comparison]:
    """Every run that kept its predictions against the first one that did, in pairs.

    Rows are paired by reference and gold; runs without a row in common are left out.
    """
    known = [result for result in results if result.predictions is not None]
    if len(known) < 2:
        return []
    first, *others = known
    base = _by_question(first)
    found = [(other, _pairs(base, _by_question(other))) for other in others]
    return [
        _compare(other, first, pairs)
        for other, pairs in found
        if pairs and other.profile == first.profile
    ]


def _by_question(result: Result) -> dict[str, Mapping[str, Any]]:
    """Predictions by what they answer; the n-th repetition of the same pair has a key of its own."""
    records: dict[str, Mapping[str, Any]] = {}
    seen: dict[str, int] = {}
    for record in result.predictions or ():
        asked = f"{record.get('plaintext')}\0{record['xml']}"
        key = digest(asked, 64)
        seen[key] = seen.get(key, 0) + 1
        records[f"{key}/{seen[key]}"] = record
    return records


def _pairs(
    first: Mapping[str, Mapping[str, Any]], other: Mapping[str, Mapping[str, Any]]
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    return [(record, other[key]) for key, record in first.items() if key in other]


def _compare(
    other: Result, first: Result, pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]
) -> Comparison:
    base = count_arrays(score_records([a for a, _ in pairs], first.profile))
    ours = count_arrays(score_records([b for _, b in pairs], first.profile))
    clusters = [a.get("citing_article") for a, _ in pairs]
    fields = {
        name: _difference(ours, base, column, clusters)
        for column, name in enumerate((*FIELDS, OVERALL))
    }
    articles = len({name for name in clusters if name is not None}) + clusters.count(None)
    return Comparison(other.label, first.label, len(pairs), articles, fields)


def _difference(
    ours: Mapping[str, np.ndarray[Any, Any]],
    base: Mapping[str, np.ndarray[Any, Any]],
    column: int,
    clusters: Sequence[str | None],
) -> Paired | None:
    return paired_difference(
        ours["lenient"][:, column],
        ours["gold"][:, column],
        base["lenient"][:, column],
        base["gold"][:, column],
        clusters,
    )


def markdown_comparison(comparison: Comparison) -> str:
    """The differences in points, with intervals, p values and verdicts, in Markdown."""
    lines = [
        f"{comparison.label} minus {comparison.baseline}, lenient recall in points, on "
        f"{comparison.n} references of {comparison.articles} articles in pairs:",
        "",
        "| Field | Difference | 95% interval | p | Verdict |",
        "|---|---:|---:|---:|---|",
    ]
    for field, paired in comparison.fields.items():
        lines.append(f"| {field} | {' | '.join(comparison_cells(paired))} |")
    return "\n".join(lines) + "\n"


def comparison_cells(paired: Paired | None) -> tuple[str, str, str, str]:
    """Difference, interval, p and verdict as text."""
    if paired is None:
        return ("–", "–", "–", in_words(None))
    low, high = 100 * paired.low, 100 * paired.high
    p = "<0.001" if paired.p < 0.001 else f"{paired.p:.3f}"
    return (
        f"{100 * paired.difference:+.1f}",
        f"{low:+.1f} to {high:+.1f}",
        p,
        in_words(paired),
    )
