"""Reports as tables on a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reno_dspy.measure.report import FieldReport, Report

_COLUMNS = ("Field", "Gold", "Recall", "95% interval", "Strict", "Precision", "in gold")


def print_report(report: Report) -> None:
    """Print a report: what was measured, then a line for every field."""
    console = Console()
    name = report.system or "Predictions"
    where = f" on {report.data}" if report.data else ""
    table = Table(box=box.SIMPLE, title=Text(f"{name}{where}"), title_justify="left")
    for column in _COLUMNS:
        table.add_column(column, justify="left" if column == "Field" else "right", no_wrap=True)
    for field, one in [*report.fields.items(), ("all seven", report.overall)]:
        table.add_row(field, *_cells(one), end_section=field == "year")
    console.print(table)
    console.print(
        f"n {report.n} · valid XML {shown(report.valid_xml)} · text fidelity "
        f"{shown(report.fidelity)} · all authors right {shown(report.all_authors)} · "
        f"{report.errors} failed, {report.truncated} truncated · profile {report.profile}\n"
        "Percentages. Precision `in gold` counts citations whose gold has the field.",
        highlight=False,
    )
    if report.clusters < 2:
        console.print("No intervals: all references are of one citing article.", highlight=False)


def shown(value: float | None) -> str:
    """A percentage with one decimal; undefined is a dash."""
    return "–" if value is None else f"{value:.1f}"


def _cells(one: FieldReport) -> list[str]:
    interval = one.intervals["recall_lenient"]
    return [
        str(one.gold),
        shown(one.recall_lenient),
        "–" if interval is None else f"{interval[0]:.1f}–{interval[1]:.1f}",
        shown(one.recall_strict),
        shown(one.precision_lenient),
        shown(one.precision_restricted),
    ]
