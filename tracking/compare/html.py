"""The comparison as one HTML page: self-contained, readable without a network, narrow and wide."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from reno_dspy.measure.measures import SHARES
from tracking.compare.compared import Compared
from tracking.compare.differing import PromptDiff
from tracking.compare.grid import Cell, Grid, Line, origins_grid
from tracking.compare.plots import gap_plots, heat_map, recall_plots
from tracking.compare.results import Result

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2329; --dim: #66707a; --line: #d9dee3; --paper: #fff;
  --own: #0b66c2; --other: #8b959e; --heat-colour: 11 102 194; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --dim: #98a2ac; --line: #3a434c;
  --paper: #15191d; --own: #6fb3ff; --other: #8b959e; --heat-colour: 111 179 255; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1rem clamp(.75rem, 3vw, 2rem) 4rem;
  font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .4rem; } h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; }
p { max-width: 46rem; margin: .4rem 0; } .dim, small { color: var(--dim); }
.warn { border-left: 4px solid #c77700; padding-left: .75rem; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .6rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); vertical-align: top; }
tbody tr:last-child > * { border-bottom: 0; }
th { font-weight: 600; } tbody th { font-weight: 400; }
th small { display: block; font-size: .75rem; line-height: 1.2; font-weight: 400; }
th:first-child { text-align: left; position: sticky; left: 0; background: var(--paper);
  white-space: normal; overflow-wrap: anywhere; min-width: 12rem; max-width: 22rem; }
thead th { white-space: normal; min-width: 4rem; }
td small { display: block; font-size: .75rem; line-height: 1.2; }
tr.published { color: var(--dim); }
td.word, th.word { text-align: left; white-space: normal; min-width: 7rem; }
tr.group th { font-weight: 600; }
.panels { display: grid; gap: .75rem 1.5rem; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); }
figure { margin: 0; } figcaption { font-weight: 600; }
svg { width: 100%; max-width: 26rem; height: auto; display: block; }
svg text { font-size: 11px; fill: var(--ink); } svg .tick { fill: var(--dim); text-anchor: middle; }
svg .label, svg .value { text-anchor: end; } svg .published text { fill: var(--dim); }
.grid { stroke: var(--line); } .interval { stroke: var(--own); stroke-width: 3; opacity: .35; }
.gap { stroke: var(--own); stroke-width: 2; } .dot { fill: var(--own); stroke: var(--own); }
.hollow { fill: var(--paper); } .published .dot { fill: var(--other); stroke: var(--other); }
.published .hollow { fill: var(--paper); } .published .gap { stroke: var(--other); }
@media (max-width: 52rem) { table { font-size: .82rem; } th, td { padding: .3rem .4rem; }
  th:first-child { min-width: 7rem; max-width: 8rem; } td small, th small { font-size: .68rem; } }
.verdict { max-width: 60rem; padding-left: 1.2rem; } .verdict li { margin: .4rem 0; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--line); border-radius: 6px;
  padding: .6rem; font-size: .85rem; }
.added { background: #2da44e33; } .removed { background: #cf222e33; }
.heat td[style] { background: rgb(var(--heat-colour) / calc(var(--heat) * .45)); }
"""


def html_report(compared: Compared) -> str:
    """The whole page: the verdict, what differs, every table, plots."""
    results, own = compared.results, compared.own
    body = [
        f"<h1>Comparison: {escape(compared.title)}</h1>",
        f'<p class="warn">{escape(compared.warning)}</p>' if compared.warning else "",
        _verdicts(compared),
        *map(_section, [*compared.grids, origins_grid(own)]),
        _notes(results),
        *map(_prompt, compared.prompts),
        "<h2>Recall by field</h2><p class='dim'>Lenient recall with its 95% interval.</p>",
        recall_plots(results),
        "<h2>What malformed XML costs</h2><p class='dim'>From strict (hollow) to lenient (filled) "
        "recall; the number is the gap in points.</p>",
        gap_plots(results),
        _slices(own),
    ]
    return page(f"{compared.title} – reno compare", "".join(body))


def _verdicts(compared: Compared) -> str:
    if not compared.comparisons:
        return ""
    items = "".join(f"<li>{escape(sentences)}</li>" for sentences in compared.verdicts)
    listed = f'<ul class="verdict">{items}</ul>' if items else ""
    link = '<p><a href="changes.html">Click through the references whose answer changed</a></p>'
    return f"{listed}{link}"


def _prompt(diff: PromptDiff) -> str:
    marks = {"+": "added", "-": "removed", "@": "dim"}
    lines = "".join(
        f'<span class="{marks.get(line[:1], "")}">{escape(line)}\n</span>' for line in diff.lines
    )
    return f"<h2>Prompt of {escape(diff.label)}</h2><pre>{lines}</pre>"


def page(title: str, body: str) -> str:
    """An HTML page in the style of comparisons."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body>{body}</body></html>\n"
    )


def _section(grid: Grid) -> str:
    return f"<h2>{escape(grid.title)}</h2>{_table(grid)}"


def _table(grid: Grid) -> str:
    first_word = len(grid.heads) - grid.words
    heads = "".join(
        f"<th{_kind(number >= first_word)}>{escape(head)}</th>"
        for number, head in enumerate(grid.heads)
    )
    rows = "".join(_row(line, first_word - 1) for line in grid.lines)
    return (
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _row(line: Line, first_word: int) -> str:
    kind = ' class="published"' if line.published else ""
    note = f"<small>{escape(line.note)}</small>" if line.note else ""
    cells = "".join(_cell(cell, number >= first_word) for number, cell in enumerate(line.cells))
    return f"<tr{kind}><th>{escape(line.label)}{note}</th>{cells}</tr>"


def _cell(cell: Cell, word: bool) -> str:
    shown = f"<strong>{escape(cell.text)}</strong>" if cell.best else escape(cell.text)
    small = f"<small>{escape(cell.small)}</small>" if cell.small else ""
    return f"<td{_kind(word)}>{shown}{small}</td>"


def _kind(word: bool) -> str:
    return " class='word'" if word else ""


def _notes(results: Sequence[Result]) -> str:
    shares = "; ".join(f"{share.title}: {share.meaning}" for share in SHARES)
    notes = [
        "All values in percent; the small ranges are 95% intervals from a bootstrap over citing "
        "articles; – is undefined (nothing to find, or nothing predicted) or not known. Bold is the "
        "best run.",
        f"Shares of the references. {shares}.",
    ]
    if any(result.published for result in results):
        notes.append(
            "Grey rows are the paper's (RenoBench, tables 1-4), measured on the published 10,000 "
            "references: another data set, shown for orientation only."
        )
    return "".join(f"<p class='dim'>{escape(note)}</p>" for note in notes)


def _slices(own: Sequence[Result]) -> str:
    drawn = heat_map(own)
    note = "Lenient recall, with its 95% interval where a slice has two citing articles or more."
    return f"<h2>Recall by slice</h2><p class='dim'>{note}</p>{drawn}" if drawn else ""
