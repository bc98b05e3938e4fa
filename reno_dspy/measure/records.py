"""Stored predictions: the rows of `predictions.jsonl`, and of files of that form made elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from reno_dspy.base.errors import InputError
from reno_dspy.base.files import digest
from reno_dspy.data.cells import is_nothing, label, text
from reno_dspy.data.sources import read_records
from reno_dspy.measure.files import PREDICTIONS

Record: TypeAlias = Mapping[str, Any]
# By these a report groups citations: true and false are values as good as text.
_GROUPS = ("source", "language", "publication_type", "has_pid")


def read_predictions(path: Path) -> list[dict[str, Any]]:
    """The predictions in a file or in an evaluation's directory.

    Raises InputError where there are none, or for a row that `check_records` refuses.
    """
    file = path / PREDICTIONS if path.is_dir() else path
    records = list(check_records(read_records(file), f"{file}, record "))
    if not records:
        raise InputError(f"{file} holds no predictions.")
    return records


def check_records(
    records: Iterable[Record], where: str = "Prediction "
) -> Iterator[dict[str, Any]]:
    """Rows with `xml` (gold) and `prediction` (raw completion), and text wherever there must be text.

    Raises InputError naming `where`, the row's number and the column.
    """
    for number, record in enumerate(records, start=1):
        yield _checked(record, f"{where}{number}")


def by_question(records: Iterable[Record]) -> dict[str, Record]:
    """Predictions by what they answer: by this, those of several systems are put together.

    The n-th repetition of the same reference and gold has a key of its own.
    """
    found: dict[str, Record] = {}
    seen: Counter[str] = Counter()
    for record in records:
        key = digest(f"{record.get('plaintext')}\0{record['xml']}", 64)
        seen[key] += 1
        found[f"{key}/{seen[key]}"] = record
    return found


def _checked(record: Record, where: str) -> dict[str, Any]:
    if not isinstance(record.get("xml"), str):
        raise InputError(f"{where} has no text in column `xml` (the gold annotation).")
    checked = {column: value for column, value in record.items() if not is_nothing(value)}
    for column in ("prediction", "plaintext"):
        checked[column] = text(checked.get(column), f"{where}: column `{column}`")
    if "confidence" in checked:
        checked["confidence"] = _probability(checked["confidence"], where)
    for column in ("id", "citing_article", *_GROUPS):
        value = checked.get(column)
        if not (isinstance(value, bool) and column in _GROUPS):
            checked[column] = label(value, f"{where}: column `{column}`")
    return checked


def _probability(value: Any, where: str) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = -1.0
    if not 0 <= found <= 1:
        raise InputError(f"{where}: column `confidence` has {value!r}, no number from 0 to 1.")
    return found
