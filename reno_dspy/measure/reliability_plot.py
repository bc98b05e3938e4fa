"""The reliability diagram as an SVG image, which needs no library."""

from __future__ import annotations

from reno_dspy.measure.reliability import Group, Reliability, wilson

_SIDE, _LEFT, _TOP, _BOTTOM = 240, 52, 28, 44
_TICKS = (0, 0.25, 0.5, 0.75, 1)
_STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#333}.title{font-weight:600}.grid{stroke:#ddd}"
    ".ideal{stroke:#999;stroke-dasharray:4 3}.interval{stroke:#2a6fb0;stroke-width:1.5}"
    ".dot{fill:#2a6fb0}"
)


def reliability_svg(found: Reliability) -> str:
    """Mean confidence against the share wholly right, with 95% intervals, group by group."""
    width, height = _LEFT + _SIDE + 20, _TOP + _SIDE + _BOTTOM
    marks = "".join(map(_mark, found.groups))
    title = (
        f"{found.n} references: expected calibration error {found.ece:.3f} "
        f"(by chance {found.chance:.3f})"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'width="{2 * width}" aria-label="Reliability diagram: {title}">'
        f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="{_LEFT}" y="16" class="title" textLength="{_SIDE}" '
        f'lengthAdjust="spacingAndGlyphs">{title}</text>'
        f'{_axes()}<line class="ideal" x1="{_x(0)}" y1="{_y(0)}" x2="{_x(1)}" y2="{_y(1)}"/>'
        f"{marks}</svg>\n"
    )


def _axes() -> str:
    parts = []
    for value in _TICKS:
        x, y = _x(value), _y(value)
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{_y(0)}" y2="{_y(1)}"/>')
        parts.append(f'<line class="grid" x1="{_x(0)}" x2="{_x(1)}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{x}" y="{_y(0) + 16}" text-anchor="middle">{value:g}</text>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{value:g}</text>')
    middle = (_x(0.5), _y(0.5))
    parts.append(
        f'<text x="{middle[0]}" y="{_y(0) + 34}" text-anchor="middle">mean confidence</text>'
        f'<text transform="translate(14 {middle[1]}) rotate(-90)" text-anchor="middle">'
        "share wholly right</text>"
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


def _x(value: float) -> float:
    return round(_LEFT + _SIDE * value, 1)


def _y(value: float) -> float:
    return round(_TOP + _SIDE * (1 - value), 1)
