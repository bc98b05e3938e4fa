"""The page on which a human judges values, and the table beside it: the same rows in both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from reno_dspy.base.errors import InputError
from reno_dspy.base.files import digest, write_text
from reno_dspy.base.lock import locked
from reno_dspy.base.rundir import LOCK
from reno_dspy.base.show import csv_text


@dataclass(frozen=True)
class Judging:
    """What is to be judged: rows of text by column (`verdict` and `note` empty), and how they are shown.

    `facts` and `details` are (label, column); details are folded away. `verdicts` are the words on the
    three buttons.
    """

    title: str
    question: str
    columns: Sequence[str]
    facts: Sequence[tuple[str, str]]
    details: Sequence[tuple[str, str]]
    verdicts: Mapping[str, str]
    rows: Sequence[Mapping[str, str]]

    @property
    def key(self) -> str:
        """Sixteen hexadecimal digits by which a page finds its own verdicts again."""
        known = ("id", "field", "value", "reference")
        return digest(json.dumps([[row[name] for name in known] for row in self.rows]))


def export(judging: Judging, out: Path, name: str) -> tuple[Path, Path]:
    """Write `name.csv` and `name.html` into `out`; return both paths.

    Raises InputError when `out` already has such a table, whose verdicts would be lost.
    """
    table, page = out / f"{name}.csv", out / f"{name}.html"
    out.mkdir(parents=True, exist_ok=True)
    rows = [[row[column] for column in judging.columns] for row in judging.rows]
    with locked(out / LOCK, str(out)):
        if table.exists():
            raise InputError(f"{out} already holds a review; name another --out.")
        write_text(page, _page(judging))
        write_text(table, csv_text(judging.columns, rows))
    return table, page


def _page(judging: Judging) -> str:
    template = files("reno_dspy.measure.review").joinpath("review.html").read_text(encoding="utf-8")
    data = {
        "key": judging.key,
        "title": judging.title,
        "question": judging.question,
        "columns": judging.columns,
        "facts": judging.facts,
        "details": judging.details,
        "verdicts": judging.verdicts,
        "rows": judging.rows,
    }
    # Inside a script element only "<" could end it.
    return template.replace("__REVIEW__", json.dumps(data).replace("<", "\\u003c"))
