"""Plots as SVG and HTML text: they need no library, no network, and follow the page's colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from reno_dspy.base.show import shown
from reno_dspy.jats.elements import PAPER_COLUMNS
from reno_dspy.measure.measures import COMPARED, RECALL, RECALL_STRICT
from reno_dspy.measure.result import UNKNOWN, Estimate, Slice
from tracking.compare.grid import interval
from tracking.compare.results import Result

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
        f"<figure><figcaption>{PAPER_COLUMNS[field]}</figcaption>{_panel(results, field, mark)}</figure>"
        for field in PAPER_COLUMNS
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
    title = f"Recall of {PAPER_COLUMNS[field]} by run"
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
    inner = f"<title>{escape(result.label)}</title>{escape(text)}"
    return f'<text class="label" x="{_LEFT - 8}" y="{y + 4}">{inner}</text>'


def _recall_mark(result: Result, field: str, y: float) -> str:
    recall = result.report.estimate(field, RECALL)
    if recall.value is None:
        return _value(None, y)
    drawn = ""
    if recall.ends is not None:
        low, high = map(_x, recall.ends)
        drawn = f'<line class="interval" x1="{low}" x2="{high}" y1="{y}" y2="{y}"/>'
    return f"{drawn}{_dot(recall.value, y, 'dot')}{_value(recall.value, y)}"


def _gap_mark(result: Result, field: str, y: float) -> str:
    lenient = result.report.estimate(field, RECALL).value
    strict = result.report.estimate(field, RECALL_STRICT).value
    if lenient is None or strict is None:
        return _value(None, y)
    ends = f'x1="{_x(strict)}" x2="{_x(lenient)}"'
    drawn = f'<line class="gap" {ends} y1="{y}" y2="{y}"/>'
    drawn += _dot(strict, y, "dot hollow") + _dot(lenient, y, "dot")
    return drawn + _value(lenient - strict, y)


def _dot(value: float, y: float, kind: str) -> str:
    return f'<circle class="{kind}" cx="{_x(value)}" cy="{y}" r="4"/>'


def _value(value: float | None, y: float) -> str:
    return f'<text class="value" x="{_WIDTH}" y="{y + 4}">{shown(value)}</text>'


def _x(value: float) -> float:
    return round(_LEFT + (_RIGHT - _LEFT) * value / 100, 1)


def heat_map(results: Sequence[Result]) -> str:
    """By slice (platform, language, publication type, PID): recall by field, shares of references."""
    return "".join(_heat_table(result) for result in results if result.report.slices)


def _heat_table(result: Result) -> str:
    heads = [*PAPER_COLUMNS.values(), *(share.title for share in COMPARED)]
    rows = []
    for attribute, slices in result.report.slices.items():
        name = escape(attribute.replace("_", " "))
        empty = f'<td></td><td colspan="{len(heads)}"></td>'
        rows.append(f'<tr class="group"><th>{name}</th>{empty}</tr>')
        rows += [_heat_row(value, part) for value, part in slices.items()]
    shown_heads = "".join(f"<th>{head}</th>" for head in heads)
    return (
        f"<h3>{escape(result.label)}</h3>"
        f'<div class="scroll"><table class="heat"><thead><tr><th>Slice</th><th>n</th>{shown_heads}'
        f"</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _heat_row(value: str, part: Slice) -> str:
    estimates = [part.recall.get(field, UNKNOWN) for field in PAPER_COLUMNS]
    estimates += [part.shares.get(share.name, UNKNOWN) for share in COMPARED]
    cells = "".join(map(_heat_cell, estimates))
    return f"<tr><th>{escape(value)}</th><td>{part.n}</td>{cells}</tr>"


def _heat_cell(estimate: Estimate) -> str:
    if estimate.value is None:
        return '<td class="none">–</td>'
    small = f"<small>{interval(estimate)}</small>" if estimate.ends else ""
    return f'<td style="--heat:{estimate.value:.0f}%">{shown(estimate.value)}{small}</td>'
