"""The tables of a comparison, whatever they are shown as: terminal, Markdown and HTML draw these grids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reno_dspy.base.show import csv_text, markdown_table, shown
from reno_dspy.jats.elements import PAPER_COLUMNS
from reno_dspy.measure.measures import MEASURES, PRECISION, RECALL, SHARES, Measure
from reno_dspy.measure.result import OVERALL, UNKNOWN, Estimate, Report
from reno_dspy.measure.stats import Paired, in_words
from tracking.compare.paired import Comparison
from tracking.compare.results import Result, other_fields

PUBLISHED_NOTE = "published (other data)"


@dataclass(frozen=True)
class Cell:
    """A cell's text, what stands smaller below it (an interval), whether it is the best of its column."""

    text: str
    small: str = ""
    best: bool = False


@dataclass(frozen=True)
class Line:
    """A row: its label, a note below that, its cells. Rows of the paper are `published`."""

    label: str
    cells: Sequence[Cell]
    note: str = ""
    published: bool = False


@dataclass(frozen=True)
class Grid:
    """A table: `heads` of the label and of each cell, of which the last `words` hold words."""

    title: str
    heads: Sequence[str]
    lines: Sequence[Line]
    words: int = 0


def score_grids(results: Sequence[Result]) -> list[Grid]:
    """The paper's four tables, what goes beyond them, and the table on answers as such."""
    others = other_fields(results)
    beyond = {RECALL: "Other fields: recall", PRECISION: "Other fields: precision"}
    more = [
        _fields_grid(results, measure, title, dict(zip(others, others, strict=True)))
        for measure, title in beyond.items()
        if others
    ]
    return [
        *(measure_grid(results, measure) for measure in _known(results)),
        *more,
        answers_grid(results),
    ]


def measure_grid(results: Sequence[Result], measure: Measure) -> Grid:
    """One of tables 1-4: the paper's columns for every run that has the measure."""
    rows = [r for r in results if any(measure.name in f.measures for f in r.report.fields.values())]
    return _fields_grid(rows, measure.name, measure.title, PAPER_COLUMNS)


def answers_grid(results: Sequence[Result]) -> Grid:
    """Shares of references, and what the answers took; our own runs only."""
    own = [result for result in results if not result.published]
    estimates = [
        *([result.report.shares.get(share.name, UNKNOWN) for result in own] for share in SHARES),
        [result.report.estimate(OVERALL, RECALL) for result in own],
    ]
    columns = [_column(column, own) for column in estimates]
    lines = [
        Line(result.label, [*cells, *map(Cell, _counts(result.report))], f"n = {result.report.n}")
        for result, cells in zip(own, zip(*columns, strict=True), strict=True)
    ]
    heads = ["Model", *(share.title for share in SHARES), "Recall overall", "Failed", "Truncated"]
    return Grid("Answers", [*heads, "Tokens in", "Tokens out", "Cost"], lines)


def origins_grid(results: Sequence[Result]) -> Grid:
    """What each of our own runs was measured on."""
    lines = [
        Line(result.label, [Cell(str(result.report.n)), *map(Cell, _origin(result))])
        for result in results
        if not result.published
    ]
    heads = ["System", "n", "Data", "Digest", "Profile", "MLflow run"]
    return Grid("Runs", heads, lines, words=4)


def comparison_grid(comparison: Comparison) -> Grid:
    """The paired differences of one run against the first."""
    title = (
        f"{comparison.label} minus {comparison.baseline}: lenient recall and shares of references "
        f"in points, {comparison.n} references of {comparison.articles} articles in pairs"
    )
    lines = [
        Line(_row_name(name), [*map(Cell, difference_cells(paired))])
        for name, paired in comparison.differences.items()
    ]
    return Grid(title, ["Field", "Difference", "95% interval", "p", "Verdict"], lines, 1)


def difference_cells(paired: Paired | None) -> tuple[str, str, str, str]:
    """Difference in points, interval, p and verdict as text."""
    if paired is None:
        return (shown(None), shown(None), shown(None), in_words(None))
    low, high = 100 * paired.low, 100 * paired.high
    p = "<0.001" if paired.p < 0.001 else f"{paired.p:.3f}"
    return (
        f"{100 * paired.difference:+.1f}",
        f"{low:+.1f} to {high:+.1f}",
        p,
        in_words(paired),
    )


def interval(estimate: Estimate) -> str:
    """The ends of an interval in whole percents; empty where there is none."""
    ends = estimate.ends
    return "" if ends is None else f"{ends[0]:.0f}–{ends[1]:.0f}"


def markdown(grid: Grid) -> str:
    """The grid as a Markdown table."""
    rows = [
        [f"{line.label} ({line.note})" if line.note else line.label, *map(_marked, line.cells)]
        for line in grid.lines
    ]
    return markdown_table(grid.heads, rows)


def _marked(cell: Cell) -> str:
    text = f"**{cell.text}**" if cell.best else cell.text
    return f"{text} ({cell.small})" if cell.small else text


def csv_table(results: Sequence[Result]) -> str:
    """All tables, long: one line per run, measure and field; undefined is empty."""
    heads = ["model", "published", "data", "data_digest", "profile", "n", "valid_xml", "measure"]
    rows: list[list[object]] = []
    for result in results:
        report = result.report
        origin = [result.label, result.published, report.data, report.data_digest, report.profile]
        origin += [report.n, report.share("valid_xml")]
        found = [
            (measure.name, field, one.measures[measure.name])
            for measure in MEASURES
            for field, one in report.every_field()
            if measure.name in one.measures
        ]
        found += [(name, "", one) for name, one in report.shares.items()]
        rows += [[*origin, *names, one.value, one.low, one.high] for *names, one in found]
    return csv_text([*heads, "field", "value", "low", "high"], rows)


def _known(results: Sequence[Result]) -> list[Measure]:
    taken = {m for r in results for one in r.report.fields.values() for m in one.measures}
    return [measure for measure in MEASURES if measure.name in taken]


def _fields_grid(
    results: Sequence[Result], measure: str, title: str, heads: Mapping[str, str]
) -> Grid:
    valid = [Cell(shown(result.report.share("valid_xml"))) for result in results]
    columns = [
        _column([result.report.estimate(field, measure) for result in results], results)
        for field in heads
    ]
    lines = [
        Line(
            result.label,
            cells,
            PUBLISHED_NOTE if result.published else f"n = {result.report.n}",
            result.published,
        )
        for result, cells in zip(results, zip(valid, *columns, strict=True), strict=True)
    ]
    return Grid(title, ["Model", "Valid XML", *heads.values()], lines)


def _column(estimates: Sequence[Estimate], results: Sequence[Result]) -> list[Cell]:
    """Cells of one column; the best of our own runs is marked where there are at least two."""
    own = [
        estimate.value
        for estimate, result in zip(estimates, results, strict=True)
        if estimate.value is not None and not result.published
    ]
    best = max(own) if len(own) > 1 else None
    return [
        Cell(
            shown(one.value),
            interval(one),
            best is not None and one.value == best and not result.published,
        )
        for one, result in zip(estimates, results, strict=True)
    ]


def _counts(report: Report) -> list[str]:
    tokens = (report.prompt_tokens, report.completion_tokens)
    return [
        str(report.errors),
        str(report.truncated),
        *(shown(None) if count is None else f"{count:,}" for count in tokens),
        cost(report.cost),
    ]


def cost(dollars: float | None) -> str:
    """US dollars, to a hundredth of a cent where there are few."""
    return shown(None) if dollars is None else f"${dollars:.{2 if dollars >= 10 else 4}f}"


def _origin(result: Result) -> list[str]:
    report = result.report
    run = result.run_id or shown(None)
    return [str(report.data), str(report.data_digest), report.profile, run]


def _row_name(name: str) -> str:
    shares = {share.name: share.title for share in SHARES}
    return {**PAPER_COLUMNS, OVERALL: "Overall", **shares}.get(name, name)
