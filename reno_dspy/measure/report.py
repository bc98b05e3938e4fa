"""Predictions to report: sums of counts, percentages with intervals, slices. DESIGN section 6."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from reno_dspy.base.errors import InputError
from reno_dspy.jats.citation import FIELDS
from reno_dspy.measure.metric import PROFILES, CitationScore, FieldScore, compare
from reno_dspy.measure.stats import Interval, ratio_intervals

# The counts of a field, in the order of the arrays below.
COUNTS = ("gold", "pred", "lenient", "strict", "restricted")
SLICES = ("source", "language", "publication_type", "has_pid")
# measure -> (numerator, denominator) among COUNTS.
MEASURES = {
    "recall_lenient": ("lenient", "gold"),
    "precision_lenient": ("lenient", "pred"),
    "recall_strict": ("strict", "gold"),
    "precision_strict": ("strict", "pred"),
    "precision_restricted": ("lenient", "restricted"),
}


@dataclass(frozen=True)
class FieldReport:
    """Counts of one field and percentages of them; None where the denominator is 0.

    `restricted` counts the predicted values in citations whose gold has the field, and
    `precision_restricted` is the lenient precision over those alone: gold often lacks a field that the
    reference has (paper section 3). `intervals` has [low, high] in percent for each measure, or None.
    """

    gold: int
    pred: int
    lenient: int
    strict: int
    restricted: int
    recall_lenient: float | None
    precision_lenient: float | None
    recall_strict: float | None
    precision_strict: float | None
    precision_restricted: float | None
    intervals: Mapping[str, tuple[float, float] | None]


@dataclass(frozen=True)
class Report:
    """What a system did on a data set. Shares are percentages; None is undefined (0/0).

    `intervals` has those of valid_xml, fidelity and all_authors; `overall` sums the seven fields. `errors`
    counts failed requests, which are empty predictions; `truncated` answers cut by the token limit.
    `clusters` is the number of citing articles that intervals are drawn from. `slices`: attribute ->
    value -> {n, recall_lenient by field and overall, their intervals}.
    """

    n: int
    profile: str
    valid_xml: float | None
    fidelity: float | None
    all_authors: float | None
    errors: int
    truncated: int
    intervals: Mapping[str, tuple[float, float] | None]
    fenced: int
    thought: int
    gold_malformed: int
    clusters: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    fields: Mapping[str, FieldReport]
    overall: FieldReport
    slices: Mapping[str, Mapping[str, Any]]
    system: str | None = None
    identity: Mapping[str, str] = field(default_factory=dict)
    data: str | None = None
    data_digest: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values, the content of `report.json`."""
        return asdict(self)

    def to_metrics(self) -> dict[str, float | None]:
        """The report as metrics with slash names, `recall/lenient/surname`."""
        metrics: dict[str, float | None] = {
            "n": self.n, "valid_xml": self.valid_xml, "fidelity": self.fidelity,
            "all_authors": self.all_authors, "errors": self.errors, "truncated": self.truncated,
            "tokens/prompt": self.prompt_tokens, "tokens/completion": self.completion_tokens,
            "cost": self.cost,
        }  # fmt: skip
        for name, one in [*self.fields.items(), ("overall", self.overall)]:
            for measure in MEASURES:
                metrics[f"{measure.replace('_', '/')}/{name}"] = getattr(one, measure)
        return metrics


def score_records(records: Sequence[Mapping[str, Any]], profile: str) -> list[CitationScore]:
    """Score stored predictions: rows with at least `xml` (gold) and `prediction` (raw completion).

    Raises InputError for a row without them, or an unknown profile.
    """
    if profile not in PROFILES:
        raise InputError(f"No metric profile {profile!r}; there are {', '.join(PROFILES)}.")
    scores = []
    for number, record in enumerate(records, start=1):
        gold, prediction = record.get("xml"), record.get("prediction")
        if not isinstance(gold, str) or not isinstance(prediction, str | None):
            raise InputError(f"Prediction {number}: columns `xml` and `prediction` must be text.")
        text = record.get("plaintext")
        scores.append(compare(gold, prediction or "", PROFILES[profile], text))
    return scores


def make_report(
    records: Sequence[Mapping[str, Any]], profile: str = "paper", **origin: Any
) -> Report:
    """Score stored predictions and report; `origin` fills system, identity, data and data_digest."""
    return report_scores(records, score_records(records, profile), profile, **origin)


def report_scores(
    records: Sequence[Mapping[str, Any]],
    scores: Sequence[CitationScore],
    profile: str,
    **origin: Any,
) -> Report:
    """Report on predictions that were scored already."""
    clusters = [record.get("citing_article") for record in records]
    counts = count_arrays(scores)
    return Report(
        n=len(records),
        profile=profile,
        valid_xml=_percent(sum(s.well_formed for s in scores), len(scores)),
        fidelity=_share([s.fidelity for s in scores]),
        all_authors=_share([s.all_authors for s in scores]),
        errors=sum(record.get("error") is not None for record in records),
        truncated=sum(record.get("finish_reason") == "length" for record in records),
        intervals=_share_intervals(scores, clusters),
        fenced=sum(s.fenced for s in scores),
        thought=sum(s.thought for s in scores),
        gold_malformed=sum(s.gold_malformed for s in scores),
        clusters=len({c for c in clusters if c is not None}) + clusters.count(None),
        prompt_tokens=_known_sum(records, "prompt_tokens"),
        completion_tokens=_known_sum(records, "completion_tokens"),
        cost=_known_sum(records, "cost"),
        **_field_reports(counts, clusters),
        slices=_slices(records, counts, clusters),
        **origin,
    )


def count_arrays(scores: Sequence[CitationScore]) -> dict[str, np.ndarray[Any, Any]]:
    """Counts by name (COUNTS), each of shape (citations, 8): the seven fields and their sum."""
    arrays = {}
    for name in COUNTS:
        rows = [[_count(score.fields[f], name) for f in FIELDS] for score in scores]
        array = np.array(rows, dtype=np.int64).reshape(len(scores), len(FIELDS))
        arrays[name] = np.concatenate([array, array.sum(axis=1, keepdims=True)], axis=1)
    return arrays


def citation_table(records: Sequence[Mapping[str, Any]], scores: Sequence[CitationScore]) -> str:
    """One CSV line per citation: where it stands, and what was missed and wrong in each field."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    values = [f"{f} {kind}" for f in FIELDS for kind in ("matched", "gold", "missed", "wrong")]
    writer.writerow(["index", "id", "error", "valid_xml", "fidelity", *values, "plaintext"])
    for index, (record, score) in enumerate(zip(records, scores, strict=True)):
        cells: list[object] = []
        for one in (score.fields[f] for f in FIELDS):
            cells += [one.lenient, one.gold, " | ".join(one.missed), " | ".join(one.wrong)]
        head = [index, record.get("id"), record.get("error"), score.well_formed, score.fidelity]
        writer.writerow([*head, *cells, record.get("plaintext")])
    return out.getvalue()


def _count(one: FieldScore, name: str) -> int:
    if name == "restricted":
        return one.pred if one.gold else 0
    value: int = getattr(one, name)
    return value


def _field_reports(
    counts: Mapping[str, np.ndarray[Any, Any]], clusters: Sequence[str | None]
) -> dict[str, Any]:
    tops = np.concatenate([counts[top] for top, _ in MEASURES.values()], axis=1)
    bottoms = np.concatenate([counts[bottom] for _, bottom in MEASURES.values()], axis=1)
    found = ratio_intervals(tops, bottoms, clusters)
    columns = len(FIELDS) + 1
    reports = []
    for column in range(columns):
        sums = {name: int(array[:, column].sum()) for name, array in counts.items()}
        shares: dict[str, Any] = {
            m: _percent(sums[top], sums[bottom]) for m, (top, bottom) in MEASURES.items()
        }
        intervals: dict[str, tuple[float, float] | None] = {}
        for i, measure in enumerate(MEASURES):
            intervals[measure] = _ends(found[i * columns + column])
        reports.append(FieldReport(**sums, **shares, intervals=intervals))
    return {"fields": dict(zip(FIELDS, reports, strict=False)), "overall": reports[-1]}


def _share_intervals(
    scores: Sequence[CitationScore], clusters: Sequence[str | None]
) -> dict[str, tuple[float, float] | None]:
    flags: dict[str, list[bool | None]] = {
        "valid_xml": [score.well_formed for score in scores],
        "fidelity": [score.fidelity for score in scores],
        "all_authors": [score.all_authors for score in scores],
    }
    right = np.array([[flag is True for flag in column] for column in flags.values()]).T
    known = np.array([[flag is not None for flag in column] for column in flags.values()]).T
    found = ratio_intervals(right, known, clusters)
    return dict(zip(flags, map(_ends, found), strict=True))


def _slices(
    records: Sequence[Mapping[str, Any]],
    counts: Mapping[str, np.ndarray[Any, Any]],
    clusters: Sequence[str | None],
) -> dict[str, dict[str, Any]]:
    slices: dict[str, dict[str, Any]] = {}
    for attribute in SLICES:
        values = [str(r[attribute]) if r.get(attribute) is not None else None for r in records]
        for value in sorted({v for v in values if v is not None}):
            chosen = np.array([v == value for v in values])
            gold = counts["gold"][chosen].sum(axis=0)
            lenient = counts["lenient"][chosen].sum(axis=0)
            names = (*FIELDS, "overall")
            recall = {f: _percent(int(lenient[i]), int(gold[i])) for i, f in enumerate(names)}
            inside = [cluster for cluster, kept in zip(clusters, chosen, strict=True) if kept]
            found = ratio_intervals(counts["lenient"][chosen], counts["gold"][chosen], inside)
            one = {
                "n": int(chosen.sum()), "recall_lenient": recall,
                "intervals": dict(zip(names, map(_ends, found), strict=True)),
            }  # fmt: skip
            slices.setdefault(attribute, {})[value] = one
    return slices


def _ends(interval: Interval | None) -> tuple[float, float] | None:
    return (round(100 * interval.low, 4), round(100 * interval.high, 4)) if interval else None


def _known_sum(records: Sequence[Mapping[str, Any]], name: str) -> Any:
    """The sum over the records that know `name`; None where none does."""
    known = [record[name] for record in records if record.get(name) is not None]
    return sum(known) if known else None


def _share(flags: Sequence[bool | None]) -> float | None:
    known = [flag for flag in flags if flag is not None]
    return _percent(sum(known), len(known))


def _percent(part: int, whole: int) -> float | None:
    return round(100 * part / whole, 4) if whole else None
