"""Numbers and tables as people read them: percentages, Markdown, CSV for spreadsheets, a terminal."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from rich.console import Console

# Stands for a number that is not defined (0/0) or not known.
UNDEFINED = "–"
# A spreadsheet would run a cell that begins so as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def percent(part: float, whole: float) -> float | None:
    """`part` of `whole` in percent, with four decimals; None for 0/0."""
    return round(100 * part / whole, 4) if whole else None


def shown(value: float | None, decimals: int = 1) -> str:
    """A number with that many decimals; a dash where it is undefined."""
    return UNDEFINED if value is None else f"{value:.{decimals}f}"


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[object]], words: int = 1) -> str:
    """A table in Markdown; its first `words` columns are text, the others numbers (to the right)."""
    rule = [*["---"] * words, *["---:"] * (len(heads) - words)]
    head, *lines = map(_line, [heads, *rows])
    return "".join([head, f"|{'|'.join(rule)}|\n", *lines])


def _line(cells: Sequence[object]) -> str:
    escaped = (" ".join(str(cell).split()).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |\n"


def csv_text(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as CSV that is safe to open in a spreadsheet; None is an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([guarded(cell) for cell in row] for row in rows)
    return out.getvalue()


def guarded(cell: object) -> object:
    """`cell`, with an apostrophe before text that a spreadsheet would run as a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def unguarded(text: str) -> str:
    """The text that `guarded` made `text` of."""
    return text[1:] if text.startswith("'") and text[1:].startswith(_FORMULA) else text


def console() -> Console:
    """A terminal to print tables on.

    When the reader of a pipe has gone (`reno compare ... | head`), printing raises BrokenPipeError,
    which `reno` takes as a normal end; rich alone would exit with code 1.
    """
    from rich.console import Console

    class Terminal(Console):
        def on_broken_pipe(self) -> NoReturn:
            raise BrokenPipeError

    return Terminal()
