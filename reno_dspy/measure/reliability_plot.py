"""The reliability diagram and the risk-coverage curve as one SVG image, which needs no library."""

from __future__ import annotations

from collections.abc import Iterator

from reno_dspy.measure.reliability import Group, Reliability, wilson

_SIDE, _LEFT, _TOP, _BOTTOM = 240, 52, 30, 44
_PANEL = _LEFT + _SIDE + 24
_TICKS = (0, 0.25, 0.5, 0.75, 1)
_STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#333}.title{font-weight:600}.grid{stroke:#ddd}"
    ".ideal{stroke:#999;stroke-dasharray:4 3}.interval{stroke:#2a6fb0;stroke-width:1.5}"
    ".dot{fill:#2a6fb0}.curve{fill:none;stroke:#2a6fb0;stroke-width:1.5}"
)


def reliability_svg(found: Reliability) -> str:
    """Two panels, both group by group.

    Mean confidence against the share wholly right, with 95% intervals; and the share accepted, the surest
    first, against the share of wrong ones among them.
    """
    ideal = f'<line class="ideal" x1="{_x(0)}" y1="{_y(0)}" x2="{_x(1)}" y2="{_y(1)}"/>'
    ece = f"Calibration error {found.ece:.3f} (by chance {found.chance:.3f})"
    reliability = _panel(ece, "mean confidence", "share wholly right")
    risk = _panel(
        f"Area {found.aurc:.3f}", "share accepted, the surest first", "share of these wrong"
    )
    marks = "".join(map(_mark, found.groups))
    width, height = 2 * _PANEL, _TOP + _SIDE + _BOTTOM
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'width="{2 * width}" aria-label="Reliability and risk of {found.n} references. {ece}.">'
        f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="#fff"/>'
        f"<g>{reliability}{ideal}{marks}</g>"
        f'<g transform="translate({_PANEL} 0)">{risk}{_curve(found)}</g></svg>\n'
    )


def _panel(title: str, across: str, up: str) -> str:
    """A square from 0 to 1 with its title and the names of both axes."""
    parts = [f'<text x="{_LEFT}" y="18" class="title">{title}</text>']
    for value in _TICKS:
        x, y = _x(value), _y(value)
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{_y(0)}" y2="{_y(1)}"/>')
        parts.append(f'<line class="grid" x1="{_x(0)}" x2="{_x(1)}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{x}" y="{_y(0) + 16}" text-anchor="middle">{value:g}</text>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{value:g}</text>')
    parts.append(
        f'<text x="{_x(0.5)}" y="{_y(0) + 34}" text-anchor="middle">{across}</text>'
        f'<text transform="translate(14 {_y(0.5)}) rotate(-90)" text-anchor="middle">{up}</text>'
    )
    return "".join(parts)


def _mark(group: Group) -> str:
    x = _x(group.confidence)
    low, high = wilson(round(group.right * group.n), group.n)
    return (
        f'<line class="interval" x1="{x}" x2="{x}" y1="{_y(low)}" y2="{_y(high)}"/>'
        f'<circle class="dot" cx="{x}" cy="{_y(group.right)}" r="3.5">'
        f"<title>{group.n} references: confidence {group.confidence:.3f}, right {group.right:.3f}"
        "</title></circle>"
    )


def _curve(found: Reliability) -> str:
    points = " ".join(f"{_x(covered)},{_y(wrong)}" for covered, wrong in _risks(found))
    return f'<polyline class="curve" points="{points}"/>'


def _risks(found: Reliability) -> Iterator[tuple[float, float]]:
    """(share accepted, share of these wrong) with each further group, the surest first."""
    accepted, wrong = 0, 0.0
    for group in reversed(found.groups):
        accepted += group.n
        wrong += group.n * (1 - group.right)
        yield accepted / found.n, wrong / accepted


def _x(value: float) -> float:
    return round(_LEFT + _SIDE * value, 1)


def _y(value: float) -> float:
    return round(_TOP + _SIDE * (1 - value), 1)
