"""Plots as SVG and HTML text: they need no library, no network, and follow the page's colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from reno_dspy.jats.citation import FIELDS
from tracking.compare.results import RECALL, RECALL_STRICT, Cell, Result
from tracking.compare.tables import HEADS, interval, number

_WIDTH, _LEFT, _RIGHT, _ROW, _TOP = 360, 156, 320, 20, 8
_LONGEST_LABEL = 23
# Draws one run's value of one field at a height.
Mark = Callable[[Result, str, float], str]


def recall_plots(results: Sequence[Result]) -> str:
    """One panel a field: lenient recall of every run, with its 95% interval."""
    return _panels(results, _recall_mark)


def gap_plots(results: Sequence[Result]) -> str:
    """One panel a field: from strict (hollow) to lenient (filled) recall of every run."""
    return _panels(results, _gap_mark)


def _panels(results: Sequence[Result], mark: Mark) -> str:
    panels = [
        f"<figure><figcaption>{HEADS[field]}</figcaption>{_panel(results, field, mark)}</figure>"
        for field in FIELDS
    ]
    return f'<div class="panels">{"".join(panels)}</div>'


def _panel(results: Sequence[Result], field: str, mark: Mark) -> str:
    height = _TOP + _ROW * len(results) + 18
    parts = [_axis(height)]
    for index, result in enumerate(results):
        y = _TOP + _ROW * index + _ROW / 2
        kind = "row published" if result.published else "row"
        drawn = f"{_label(result, y)}{mark(result, field, y)}"
        parts.append(f'<g class="{kind}">{drawn}</g>')
    title = f"Recall of {HEADS[field]} by run"
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{title}">'
        f"{''.join(parts)}</svg>"
    )


def _axis(height: float) -> str:
    bottom = height - 16
    ticks = []
    for value in (0, 50, 100):
        x = _x(value)
        ticks.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{_TOP}" y2="{bottom}"/>')
        ticks.append(f'<text class="tick" x="{x}" y="{height - 4}">{value}</text>')
    return "".join(ticks)


def _label(result: Result, y: float) -> str:
    # A model's maker ("Qwen/...") is left to the tables; what differs is in the rest.
    text = " + ".join(part.rpartition("/")[2] for part in result.label.split(" + "))
    if len(text) > _LONGEST_LABEL:
        half = _LONGEST_LABEL // 2
        text = f"{text[:half]}…{text[-half:]}"
    shown = f"<title>{escape(result.label)}</title>{escape(text)}"
    return f'<text class="label" x="{_LEFT - 8}" y="{y + 4}">{shown}</text>'


def _recall_mark(result: Result, field: str, y: float) -> str:
    cell = result.measures[RECALL][field]
    if cell.value is None:
        return _value(None, y)
    drawn = ""
    if cell.low is not None and cell.high is not None:
        drawn = (
            f'<line class="interval" x1="{_x(cell.low)}" x2="{_x(cell.high)}" y1="{y}" y2="{y}"/>'
        )
    return f"{drawn}{_dot(cell.value, y, 'dot')}{_value(cell, y)}"


def _gap_mark(result: Result, field: str, y: float) -> str:
    lenient, strict = result.measures[RECALL][field], result.measures[RECALL_STRICT][field]
    if lenient.value is None or strict.value is None:
        return _value(None, y)
    ends = f'x1="{_x(strict.value)}" x2="{_x(lenient.value)}"'
    drawn = f'<line class="gap" {ends} y1="{y}" y2="{y}"/>'
    drawn += _dot(strict.value, y, "dot hollow") + _dot(lenient.value, y, "dot")
    return drawn + _value(Cell(lenient.value - strict.value), y)


def _dot(value: float, y: float, kind: str) -> str:
    return f'<circle class="{kind}" cx="{_x(value)}" cy="{y}" r="4"/>'


def _value(cell: Cell | None, y: float) -> str:
    shown = number(cell.value if cell else None)
    return f'<text class="value" x="{_WIDTH}" y="{y + 4}">{shown}</text>'


def _x(value: float) -> float:
    return round(_LEFT + (_RIGHT - _LEFT) * value / 100, 1)


def heat_map(results: Sequence[Result]) -> str:
    """Lenient recall by slice (platform, language, publication type, PID) and field, as a table."""
    parts = [_heat_table(result) for result in results if result.slices]
    return "".join(parts)


def _heat_table(result: Result) -> str:
    heads = "".join(f"<th>{head}</th>" for head in HEADS.values())
    rows = []
    for attribute, slices in result.slices.items():
        rows.append(
            f'<tr class="group"><th>{escape(attribute.replace("_", " "))}</th><td></td>'
            f'<td colspan="{len(FIELDS)}"></td></tr>'
        )
        for part in slices:
            cells = "".join(_heat_cell(part.recall[field]) for field in FIELDS)
            rows.append(f"<tr><th>{escape(part.name)}</th><td>{part.n}</td>{cells}</tr>")
    return (
        f"<h3>{escape(result.label)}</h3>"
        f'<div class="scroll"><table class="heat"><thead><tr><th>Slice</th><th>n</th>{heads}</tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _heat_cell(cell: Cell) -> str:
    if cell.value is None:
        return '<td class="none">–</td>'
    small = f"<small>{interval(cell)}</small>" if interval(cell) else ""
    return f'<td style="--heat:{cell.value:.0f}%">{number(cell.value)}{small}</td>'
