"""Tables of verdicts as people fill them in, with whatever spreadsheet they use."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path

from reno_dspy.base.errors import InputError
from reno_dspy.base.show import unguarded

VERDICTS = ("right", "wrong", "unclear")


def read_table(path: Path, columns: frozenset[str]) -> list[dict[str, str]]:
    """The rows of a table of verdicts, by column.

    Raises InputError if it is not a table of verdicts: a column among `id`, `verdict` and `columns` is
    missing, or an id occurs twice.
    """
    text = _text(path)
    header = text.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)  # Spreadsheets write what the country writes.
    # A prediction may be longer than the longest cell that the library reads by default.
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restval="")
    missing = (columns | {"id", "verdict"}) - set(reader.fieldnames or ())
    if missing:
        raise InputError(
            f"{path} is not a table of verdicts: it has no column {', '.join(sorted(missing))}."
        )
    rows = [{name: unguarded(cell) for name, cell in row.items() if name} for row in reader]
    if not rows:
        raise InputError(f"{path} has no rows.")
    repeated = [name for name, count in Counter(row["id"] for row in rows).items() if count > 1]
    if repeated:
        raise InputError(f"{path} has more than one row {repeated[0]!r}; keep one of them.")
    return rows


def first_line(path: Path) -> str:
    """The line of column heads. Raises InputError when the file cannot be read."""
    return _text(path).partition("\n")[0]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"Cannot read {path}: {error}.") from error


def verdict_of(row: dict[str, str], where: str) -> str:
    """A row's verdict, "" for none yet. Raises InputError for a word that is none."""
    verdict = row["verdict"].strip().lower()
    if verdict and verdict not in VERDICTS:
        known = ", ".join(VERDICTS)
        raise InputError(f"{where}: verdict {verdict!r} is none of {known} or empty.")
    return verdict
