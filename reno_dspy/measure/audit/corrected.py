"""The gold as the verdicts on an audit correct it: `corrected.jsonl`, and data measured on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from reno_dspy.base.errors import InputError
from reno_dspy.data.dataset import Dataset, Row
from reno_dspy.data.sources import read_records
from reno_dspy.jats.clean.edits import put
from reno_dspy.jats.spans import Span, project, render
from reno_dspy.jats.text import collapse
from reno_dspy.measure.fields import PUBLICATION_TYPE
from reno_dspy.measure.records import Record

T = TypeVar("T", Row, Record)


@dataclass(frozen=True)
class Judged:
    """The verdicts on one element: how many findings, and how they were judged."""

    found: int
    right: int
    wrong: int
    unclear: int


def judged(rows: Sequence[Mapping[str, str]]) -> dict[str, Judged]:
    """Verdicts by element, the most frequent first, and over all of them as `overall`."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        for name in (row["field"], "overall"):
            counts.setdefault(name, Counter())[row["verdict"]] += 1
    names = sorted(counts, key=lambda name: (name == "overall", -counts[name].total()))
    return {
        name: Judged(
            counts[name].total(), *(counts[name][word] for word in ("right", "wrong", "unclear"))
        )
        for name in names
    }


def corrected(rows: Sequence[Mapping[str, str]]) -> Iterator[dict[str, Any]]:
    """The references with a finding that was judged right, with their gold corrected by those.

    The corrected annotation stands on the reference's text; gold values that are not in it are put
    behind it, so that none is lost. Raises InputError for a place that is none.
    """
    references: dict[tuple[str, str, str], list[Mapping[str, str]]] = {}
    for row in rows:
        if row["verdict"] == "right":
            key = (row["row"], row["reference"], row["gold_xml"])
            references.setdefault(key, []).append(row)
    for (row_id, text, xml), findings in references.items():
        yield {
            "id": row_id or None,
            "plaintext": text,
            "xml": _corrected(text, xml, findings),
            "was": xml,
            "corrections": len(findings),
        }


def _corrected(text: str, xml: str, findings: Sequence[Mapping[str, str]]) -> str:
    gold = project(text, xml)
    spans, kind = list(gold.spans), gold.publication_type
    for finding in findings:
        if finding["field"] == PUBLICATION_TYPE:
            kind = finding["value"]
        else:
            spans = put(text, spans, _span(text, finding))
    beyond = "".join(f" <{name}>{_escaped(value)}</{name}>" for name, value in gold.missing)
    return (
        render(text, spans, kind).removesuffix("</mixed-citation>") + f"{beyond}</mixed-citation>"
    )


def _span(text: str, finding: Mapping[str, str]) -> Span:
    try:
        start, end = int(finding["start"]), int(finding["end"])
    except ValueError:
        start = end = -1
    if text[start:end] != finding["value"] or start < 0:
        raise InputError(
            f"Finding {finding['id']}: {finding['value']!r} does not stand at its place in the "
            "reference. Columns other than `verdict` and `note` must stay as exported."
        )
    return Span(start, end, finding["field"], finding["role"] or None)


def _escaped(value: str) -> str:
    return value.replace("&", "&amp;").replace("<", "&lt;")


def with_gold(dataset: Dataset, path: Path) -> tuple[Dataset, int]:
    """`dataset` measured on the gold in `path`, and how many rows that has.

    Rows of `path` have `plaintext` and `xml`; where both sides have an `id`, it must be the same as
    well. Raises InputError where no row fits.
    """
    rows, count = _replaced(dataset.rows, path)
    name = f"{dataset.name}+{path.name.partition('.')[0]}"
    return replace(dataset, rows=tuple(rows), name=name), count


def records_with_gold(records: Sequence[Record], path: Path) -> tuple[list[Record], int]:
    """Stored predictions with the gold in `path`, as `with_gold`."""
    return _replaced(records, path)


def _replaced(rows: Iterable[T], path: Path) -> tuple[list[T], int]:
    golds: dict[str, list[tuple[str | None, str]]] = {}
    for record in read_records(path):
        text, xml = record.get("plaintext"), record.get("xml")
        if not isinstance(text, str) or not isinstance(xml, str):
            raise InputError(f"Rows of {path} need text in the columns `plaintext` and `xml`.")
        golds.setdefault(collapse(text), []).append((record.get("id"), xml))
    made, count = [], 0
    for row in rows:
        xml = _gold_for(row, golds)
        made.append(row if xml is None else _with_xml(row, xml))
        count += xml is not None
    if not count:
        raise InputError(f"No reference of {path} is in these data: their texts differ.")
    return made, count


def _gold_for(row: Row | Record, golds: Mapping[str, list[tuple[str | None, str]]]) -> str | None:
    text, row_id = (
        (row.plaintext, row.id) if isinstance(row, Row) else (row.get("plaintext"), row.get("id"))
    )
    for gold_id, xml in golds.get(collapse(text or ""), ()):
        if not gold_id or not row_id or gold_id == row_id:
            return xml
    return None


def _with_xml(row: T, xml: str) -> T:
    return replace(row, xml=xml) if isinstance(row, Row) else {**row, "xml": xml}
