"""From stored predictions to a report: sums of counts, percentages with intervals, slices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reno_dspy.base.errors import InputError
from reno_dspy.base.show import csv_text, markdown_table, percent, shown
from reno_dspy.jats.elements import SCORED
from reno_dspy.measure.measures import (
    COMPARED,
    COUNTS,
    MEASURES,
    PRECISION,
    RECALL,
    RECALL_STRICT,
    SHARES,
    Share,
)
from reno_dspy.measure.metric import PROFILES, CitationScore, compare
from reno_dspy.measure.records import Record, check_records
from reno_dspy.measure.reliability import reliability_of
from reno_dspy.measure.result import OVERALL, Estimate, FieldReport, Report, Slice
from reno_dspy.measure.stats import Interval, ratio_intervals

SLICES = ("source", "language", "publication_type", "has_pid")
Clusters = Sequence[str | None]
# Of each citation (rows), by field and at last over the scored fields (columns).
Counts = NDArray[np.int64]


def score_records(
    records: Sequence[Record], profile: str, fields: tuple[str, ...] = SCORED
) -> list[CitationScore]:
    """Score stored predictions: rows with at least `xml` (gold) and `prediction` (raw completion).

    Raises InputError for a row without them, or an unknown profile.
    """
    if profile not in PROFILES:
        raise InputError(f"No metric profile {profile!r}; there are {', '.join(PROFILES)}.")
    return [
        compare(
            record["xml"],
            record["prediction"] or "",
            PROFILES[profile],
            record.get("plaintext"),
            fields,
        )
        for record in check_records(records)
    ]


def make_report(
    records: Sequence[Record],
    profile: str = "paper",
    fields: tuple[str, ...] = SCORED,
    **origin: Any,
) -> Report:
    """Score stored predictions and report; `origin` fills system, identity, data and data_digest.

    Raises InputError as `score_records` does.
    """
    scores = score_records(records, profile, fields)
    return report_scores(records, scores, profile, **origin)


def report_scores(
    records: Sequence[Record], scores: Sequence[CitationScore], profile: str, **origin: Any
) -> Report:
    """Report on predictions that were scored already."""
    records = list(check_records(records))
    clusters = [record.get("citing_article") for record in records]
    counts = count_arrays(scores)
    *fields, overall = _field_reports(counts, clusters)
    return Report(
        n=len(records),
        profile=profile,
        shares=shares_of(SHARES, scores, clusters),
        fields=dict(zip(_names(scores), fields, strict=True)),
        overall=overall,
        errors=sum(record.get("error") is not None for record in records),
        truncated=sum(record.get("finish_reason") == "length" for record in records),
        fenced=sum(s.fenced for s in scores),
        thought=sum(s.thought for s in scores),
        gold_malformed=sum(s.gold_malformed for s in scores),
        clusters=len({c for c in clusters if c is not None}) + clusters.count(None),
        prompt_tokens=_sum(records, "prompt_tokens"),
        completion_tokens=_sum(records, "completion_tokens"),
        cost=_sum(records, "cost"),
        slices=_slices(records, scores, counts, clusters),
        reliability=reliability_of(
            [record.get("confidence") for record in records],
            [score.whole_right for score in scores],
        ),
        **origin,
    )


def count_arrays(scores: Sequence[CitationScore]) -> dict[str, Counts]:
    """Counts by name (COUNTS): a column for each field, and one for the scored fields together."""
    names = _names(scores)
    scored = [names.index(name) for name in SCORED]
    arrays = {}
    for count in COUNTS:
        rows = [[getattr(score.fields[name], count) for name in names] for score in scores]
        array = np.array(rows, dtype=np.int64).reshape(len(scores), len(names))
        together = array[:, scored].sum(axis=1, keepdims=True)
        arrays[count] = np.concatenate([array, together], axis=1)
    return arrays


def share_arrays(shares: Sequence[Share], scores: Sequence[CitationScore]) -> tuple[Counts, Counts]:
    """What holds and what is known of each citation (rows), by share (columns)."""
    flags = [[getattr(score, share.flag) for share in shares] for score in scores]
    shape = (len(scores), len(shares))
    holds = np.array([[flag is True for flag in row] for row in flags], dtype=np.int64)
    known = np.array([[flag is not None for flag in row] for row in flags], dtype=np.int64)
    return holds.reshape(shape), known.reshape(shape)


def shares_of(
    shares: Sequence[Share], scores: Sequence[CitationScore], clusters: Clusters
) -> dict[str, Estimate]:
    """Shares of the references, with their intervals."""
    found = _estimates(*share_arrays(shares, scores), clusters)
    return dict(zip((share.name for share in shares), found, strict=True))


def citation_table(records: Sequence[Record], scores: Sequence[CitationScore]) -> str:
    """One CSV line per citation: where it stands, and what was missed and wrong in each field."""
    names = _names(scores)
    values = [f"{name} {kind}" for name in names for kind in ("matched", "gold", "missed", "wrong")]
    heads = ["index", "id", "error", "valid_xml", "fidelity", *values, "plaintext"]
    rows = []
    for index, (record, score) in enumerate(zip(records, scores, strict=True)):
        cells: list[object] = [index, record.get("id"), record.get("error")]
        cells += [score.well_formed, score.fidelity]
        for one in score.fields.values():
            cells += [one.lenient, one.gold, " | ".join(one.missed), " | ".join(one.wrong)]
        rows.append([*cells, record.get("plaintext")])
    return csv_text(heads, rows)


def describe(report: Report) -> str:
    """The result in a sentence and a table, in Markdown."""
    shares = ", ".join(f"{s.title.lower()} {shown(report.share(s.name))}" for s in SHARES)
    rows = [
        [
            name,
            *(shown(one.value(m)) for m in (RECALL, RECALL_STRICT, PRECISION)),
            one.counts.get("gold", 0),
        ]
        for name, one in report.every_field()
    ]
    return (
        f"**{report.system}** on {report.data}: overall lenient recall "
        f"{shown(report.overall.value(RECALL))} over {report.n} references, {shares} "
        f"(profile `{report.profile}`).{_reliability(report)}\n\n"
        + markdown_table(["field", "recall", "strict recall", "precision", "gold"], rows)
    )


def _reliability(report: Report) -> str:
    return "" if report.reliability is None else f" {report.reliability.sentence()}"


def _names(scores: Sequence[CitationScore]) -> tuple[str, ...]:
    return tuple(scores[0].fields) if scores else SCORED


def _field_reports(counts: Mapping[str, Counts], clusters: Clusters) -> list[FieldReport]:
    """A report for each column of the counts."""
    tops = np.concatenate([counts[measure.top] for measure in MEASURES], axis=1)
    bottoms = np.concatenate([counts[measure.bottom] for measure in MEASURES], axis=1)
    found = _estimates(tops, bottoms, clusters)
    columns = counts["gold"].shape[1]
    return [
        FieldReport(
            counts={name: int(array[:, column].sum()) for name, array in counts.items()},
            measures={
                measure.name: found[number * columns + column]
                for number, measure in enumerate(MEASURES)
            },
        )
        for column in range(columns)
    ]


def _slices(
    records: Sequence[Record],
    scores: Sequence[CitationScore],
    counts: Mapping[str, Counts],
    clusters: Clusters,
) -> dict[str, dict[str, Slice]]:
    slices: dict[str, dict[str, Slice]] = {}
    holds, known = share_arrays(COMPARED, scores)
    tops = np.concatenate([counts["lenient"], holds], axis=1)
    bottoms = np.concatenate([counts["gold"], known], axis=1)
    names = (*_names(scores), OVERALL)
    for attribute in SLICES:
        values = [None if r.get(attribute) is None else str(r[attribute]) for r in records]
        for value in sorted({v for v in values if v is not None}):
            chosen = np.array([v == value for v in values])
            inside = [cluster for cluster, kept in zip(clusters, chosen, strict=True) if kept]
            found = _estimates(tops[chosen], bottoms[chosen], inside)
            slices.setdefault(attribute, {})[value] = Slice(
                n=int(chosen.sum()),
                recall=dict(zip(names, found, strict=False)),
                shares=dict(zip((s.name for s in COMPARED), found[len(names) :], strict=True)),
            )
    return slices


def _estimates(tops: Counts, bottoms: Counts, clusters: Clusters) -> list[Estimate]:
    """The ratio of sums of each column, with its interval."""
    intervals = ratio_intervals(tops, bottoms, clusters)
    sums = zip(tops.sum(axis=0), bottoms.sum(axis=0), strict=True)
    return [
        Estimate(percent(int(top), int(bottom)), *_ends(interval))
        for (top, bottom), interval in zip(sums, intervals, strict=True)
    ]


def _ends(interval: Interval | None) -> Iterator[float]:
    if interval is not None:
        yield from (round(100 * interval.low, 4), round(100 * interval.high, 4))


def _sum(records: Sequence[Record], name: str) -> Any:
    known = [record[name] for record in records if record.get(name) is not None]
    return sum(known) if known else None
