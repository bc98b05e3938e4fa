"""Tables 1-4 of the paper for any results: for the terminal, as Markdown and as CSV.

Beside every number its 95% interval, beside every row its n. The best of the runs (the published rows,
measured on other data, are not in that race) is bold.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from reno_dspy.jats.citation import FIELDS
from tracking.compare.paired import Comparison, comparison_cells
from tracking.compare.results import COUNTS, MEASURES, RESTRICTED, SHARES, Cell, Result

# The paper's column heads.
HEADS = dict(
    zip(FIELDS, ("Surname", "Given", "Title", "Source", "Volume", "Issue", "Year"), strict=True)
)
UNDEFINED = "–"
PUBLISHED_NOTE = "published (other data)"


def titles(results: Sequence[Result]) -> dict[str, str]:
    """The tables to show, by measure: the paper's four and, where known, restricted precision."""
    known = any(set(RESTRICTED) <= set(result.measures) for result in results)
    return {**MEASURES, **(RESTRICTED if known else {})}


def rows_of(results: Sequence[Result], measure: str) -> list[Result]:
    """The results that have a measure; the paper's rows have no restricted precision."""
    return [result for result in results if measure in result.measures]


def answer_heads() -> list[str]:
    """Heads of the table on answers as such."""
    return ["Model", "n", "Valid XML", *SHARES.values(), "Recall overall", *COUNTS.values()]


def answer_cells(result: Result) -> list[str]:
    """A run's row of the table on answers as such."""
    shares = [number(result.answers.get(name)) for name in (*SHARES, "overall")]
    counts = [str(result.answers.get(name)) for name in COUNTS]
    return [result.label, str(result.n), number(result.valid_xml.value), *shares, *counts]


def best_values(results: Sequence[Result], measure: str) -> dict[str, float]:
    """The highest value of each field among runs of our own, where there are at least two."""
    own = [row.measures[measure] for row in rows_of(results, measure) if not row.published]
    best = {}
    for field in FIELDS:
        values = [cells[field].value for cells in own]
        known = [value for value in values if value is not None]
        if len(known) > 1:
            best[field] = max(known)
    return best


def number(value: float | None) -> str:
    """A percentage with one decimal; a dash where undefined."""
    return UNDEFINED if value is None else f"{value:.1f}"


def interval(cell: Cell) -> str:
    """The ends of a cell's interval; empty where there is none."""
    if cell.low is None or cell.high is None:
        return ""
    return f"{cell.low:.0f}–{cell.high:.0f}"


def terminal_table(results: Sequence[Result], measure: str) -> Table:
    """One of tables 1-4 for rich, n under the names and intervals under the numbers.

    It fits 80 columns, so that none is cut off where a terminal or a pipe has no more.
    """
    table = Table(
        title=titles(results)[measure],
        title_justify="left",
        title_style="bold",
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    table.add_column("Model", overflow="fold")
    for head in ("XML", *HEADS.values()):
        table.add_column(head, justify="right", no_wrap=True, min_width=len(head))
    best = best_values(results, measure)
    for result in rows_of(results, measure):
        cells = [_terminal_cell(result, measure, field, best) for field in FIELDS]
        name = Text(result.label, style="dim" if result.published else "")
        if not result.published:
            name.append(f"\nn = {result.n}", style="dim")
        valid = Text(number(result.valid_xml.value), style=name.style)
        table.add_row(name, valid, *cells)
    return table


def _terminal_cell(result: Result, measure: str, field: str, best: dict[str, float]) -> Text:
    cell = result.measures[measure][field]
    style = "dim" if result.published else ""
    if not result.published and cell.value is not None and cell.value == best.get(field):
        style = "bold"
    text = Text(number(cell.value), style=style)
    if interval(cell):
        text.append(f"\n{interval(cell)}", style="dim not bold")
    return text


def markdown_table(results: Sequence[Result], measure: str) -> str:
    """One of tables 1-4 in Markdown."""
    heads = ["Model", "n", "Valid XML", *HEADS.values()]
    lines = [f"| {' | '.join(heads)} |", f"|---{'|---:' * (len(heads) - 1)}|"]
    best = best_values(results, measure)
    for result in rows_of(results, measure):
        name = f"{result.label} *{PUBLISHED_NOTE}*" if result.published else result.label
        cells = [_markdown_cell(result, measure, field, best) for field in FIELDS]
        row = [name.replace("|", "\\|"), str(result.n), number(result.valid_xml.value), *cells]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def _markdown_cell(result: Result, measure: str, field: str, best: dict[str, float]) -> str:
    cell = result.measures[measure][field]
    shown = number(cell.value)
    if not result.published and cell.value is not None and cell.value == best.get(field):
        shown = f"**{shown}**"
    return f"{shown} ({interval(cell)})" if interval(cell) else shown


def markdown_answers(results: Sequence[Result]) -> str:
    """The table on answers as such in Markdown, our own runs only."""
    heads = answer_heads()
    lines = [f"| {' | '.join(heads)} |", f"|---{'|---:' * (len(heads) - 1)}|"]
    lines += [f"| {' | '.join(answer_cells(row))} |" for row in results if not row.published]
    return "\n".join(lines) + "\n"


def csv_table(results: Sequence[Result]) -> str:
    """All four tables, long: one line per run, measure and field; undefined is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    heads = ["model", "published", "data", "data_digest", "profile", "n", "valid_xml", "measure"]
    writer.writerow([*heads, "field", "value", "low", "high"])
    for result in results:
        origin = [result.label, result.published, result.data, result.data_digest, result.profile]
        for measure, cells in result.measures.items():
            for field, cell in cells.items():
                row = [*origin, result.n, result.valid_xml.value, measure, field]
                writer.writerow([*row, cell.value, cell.low, cell.high])
    return out.getvalue()


def terminal_comparison(comparison: Comparison) -> Table:
    """The paired differences of one run against the first, for rich."""
    title = (
        f"{comparison.label} minus {comparison.baseline}: lenient recall in points, "
        f"{comparison.n} references of {comparison.articles} articles in pairs"
    )
    table = Table(title=Text(title, "bold"), title_justify="left", box=None)
    table.add_column("Field")
    for head in ("Difference", "95% interval", "p"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("Verdict")
    for field, paired in comparison.fields.items():
        table.add_row(HEADS.get(field, "Overall"), *comparison_cells(paired))
    return table


def terminal_answers(results: Sequence[Result]) -> Table:
    """The table on answers as such, for rich."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for head in answer_heads():
        table.add_column(head, justify="left" if head == "Model" else "right", overflow="fold")
    for result in results:
        if not result.published:
            table.add_row(*map(Text, answer_cells(result)))
    return table
