"""Reports as tables on a terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from reno_dspy.base.show import console, shown
from reno_dspy.jats.elements import SCORED
from reno_dspy.measure.measures import RECALL, SHARES
from reno_dspy.measure.result import OVERALL, FieldReport, Report
from reno_dspy.measure.scorers.figures import Figures

_COLUMNS = ("Field", "Gold", "Recall", "95% interval", "Strict", "Precision", "in gold")
_MEASURES = ("recall_strict", "precision_lenient", "precision_restricted")


def print_report(report: Report) -> None:
    """Print a report: a line for every field, the shares of references, what the answers took."""
    out = console()
    out.print(_fields(report))
    out.print(_shares(report))
    for line in _notes(report):
        out.print(line, highlight=False, markup=False)


def print_figures(figures: Figures) -> None:
    """Print the tables of another project's scorer."""
    out = console()
    out.print(f"{figures.note} n {figures.n}; percentages.\n", highlight=False, markup=False)
    for one in figures.tables:
        table = Table(box=None, padding=(0, 2, 0, 0), title=Text(one.title), title_justify="left")
        for head in ("Field", "Precision", "Recall", "F1", "Gold"):
            table.add_column(head, justify="left" if head == "Field" else "right")
        for label, (precision, recall, f1, gold) in one.rows.items():
            counted = shown(None) if gold is None else str(gold)
            table.add_row(label, *map(shown, (precision, recall, f1)), counted)
        out.print(table)
        out.print()


def _fields(report: Report) -> Table:
    name = report.system or "Predictions"
    where = f" on {report.data}" if report.data else ""
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        title=Text(f"{name}{where}"),
        title_justify="left",
    )
    for column in _COLUMNS:
        table.add_column(column, justify="left" if column == "Field" else "right", no_wrap=True)
    # Of the many other elements, those that neither gold nor answers have are left out.
    found = [
        (field, one)
        for field, one in report.fields.items()
        if field in SCORED or one.counts["gold"] or one.counts["pred"]
    ]
    for number, (field, one) in enumerate(found, start=1):
        table.add_row(field, *_cells(one), end_section=number == len(found))
    table.add_row(OVERALL, *_cells(report.overall))
    return table


def _cells(one: FieldReport) -> list[str]:
    ends = one.measures[RECALL].ends
    return [
        str(one.counts["gold"]),
        shown(one.value(RECALL)),
        shown(None) if ends is None else f"{ends[0]:.1f}–{ends[1]:.1f}",
        *(shown(one.value(measure)) for measure in _MEASURES),
    ]


def _shares(report: Report) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("References", "Share", "95% interval"):
        table.add_column(column, justify="left" if column == "References" else "right")
    for share in SHARES:
        if estimate := report.shares.get(share.name):
            ends = estimate.ends
            interval = shown(None) if ends is None else f"{ends[0]:.1f}–{ends[1]:.1f}"
            table.add_row(share.title, shown(estimate.value), interval)
    return table


def _notes(report: Report) -> list[str]:
    used = [
        f"{count:,} {kind} tokens"
        for kind, count in (("prompt", report.prompt_tokens), ("answer", report.completion_tokens))
        if count is not None
    ]
    if report.cost is not None:
        used.append(f"${report.cost:.4f}")
    counts = [f"n {report.n}", f"{report.errors} failed", f"{report.truncated} truncated", *used]
    lines = [
        "",
        " · ".join([*counts, f"profile {report.profile}"]),
        "Percentages. Precision `in gold` counts citations whose gold has the field.",
    ]
    if report.clusters < 2:
        lines.append("No intervals: all references are of one citing article.")
    return lines + _punctuation(report) + _reliability(report)


def _reliability(report: Report) -> list[str]:
    """How far confidence can be trusted, and what one may accept unseen."""
    found = report.reliability
    if found is None:
        return []
    return [
        f"Confidence: expected calibration error {found.ece:.3f} (n {found.n}; {found.chance:.3f} would be "
        f"chance), area under the risk-coverage curve {found.aurc:.3f}.",
        found.sentence(),
    ]


def _punctuation(report: Report) -> list[str]:
    """How many values differ from the gold's by punctuation alone, and in which fields."""
    found = {
        field: one.counts["punctuation"]
        for field, one in report.fields.items()
        if one.counts["punctuation"]
    }
    if not found:
        return []
    fields = ", ".join(f"{field} {count}" for field, count in found.items())
    total = sum(found.values())
    return [f"{total} values differ from the gold's by punctuation at their ends alone: {fields}."]
