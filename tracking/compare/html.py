"""The comparison as one HTML page: self-contained, readable without a network, narrow and wide."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from reno_dspy.jats.citation import FIELDS
from tracking.compare.paired import Comparison, comparison_cells
from tracking.compare.plots import gap_plots, heat_map, recall_plots
from tracking.compare.results import Result
from tracking.compare.tables import (
    HEADS,
    answer_cells,
    answer_heads,
    best_values,
    interval,
    number,
    rows_of,
    titles,
)

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
th:first-child { text-align: left; position: sticky; left: 0; background: var(--paper);
  white-space: normal; overflow-wrap: anywhere; min-width: 8.5rem; max-width: 22rem; }
td small { display: block; font-size: .75rem; line-height: 1.2; }
tr.published { color: var(--dim); } td.word, th.word { text-align: left; }
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
  th:first-child { min-width: 6.5rem; max-width: 8rem; } .n { display: none; }
  thead th, td.word { white-space: normal; }
  td small { font-size: .68rem; } }
.heat td[style] { background: rgb(var(--heat-colour) / calc(var(--heat) * .45)); }
"""


def html_report(
    results: Sequence[Result], comparisons: Sequence[Comparison], warning: str | None = None
) -> str:
    """The whole page. `warning` says what does not compare, where that was allowed."""
    own = [result for result in results if not result.published]
    title = " · ".join(result.label for result in own)
    body = [
        f"<h1>Comparison: {escape(title)}</h1>",
        f'<p class="warn">{escape(warning)}</p>' if warning else "",
        _origins(own),
        *(_table(results, measure) for measure in titles(results)),
        _notes(results),
        _answers(own),
        *(_comparison(comparison) for comparison in comparisons),
        "<h2>Recall by field</h2><p class='dim'>Lenient recall with its 95% interval.</p>",
        recall_plots(results),
        "<h2>What malformed XML costs</h2><p class='dim'>From strict (hollow) to lenient (filled) "
        "recall; the number is the gap in points.</p>",
        gap_plots(results),
        _slices(own),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} – reno compare</title><style>{_STYLE}</style></head>"
        f"<body>{''.join(body)}</body></html>\n"
    )


def _origins(own: Sequence[Result]) -> str:
    rows = [
        f"<tr><th>{escape(result.label)}</th><td class='word'>{escape(result.data)}</td>"
        f"<td>{result.n}</td><td class='word'><code>{escape(result.data_digest)}</code></td>"
        f"<td class='word'>{escape(result.profile)}</td>"
        f"<td class='word'><code>{escape(result.run_id or '–')}</code></td></tr>"
        for result in own
    ]
    heads = "<th>System</th><th class='word'>Data</th><th>n</th>"
    heads += "".join(f"<th class='word'>{h}</th>" for h in ("Digest", "Profile", "MLflow run"))
    return _scroll(heads, rows)


def _table(results: Sequence[Result], measure: str) -> str:
    best = best_values(results, measure)
    rows = [_row(result, measure, best) for result in rows_of(results, measure)]
    heads = "<th>Model</th><th class='n'>n</th><th>Valid XML</th>"
    heads += "".join(f"<th>{head}</th>" for head in HEADS.values())
    return f"<h2>{escape(titles(results)[measure])}</h2>{_scroll(heads, rows)}"


def _row(result: Result, measure: str, best: dict[str, float]) -> str:
    cells = []
    for field in FIELDS:
        cell = result.measures[measure][field]
        shown = number(cell.value)
        if not result.published and cell.value is not None and cell.value == best.get(field):
            shown = f"<strong>{shown}</strong>"
        small = f"<small>{interval(cell)}</small>" if interval(cell) else ""
        cells.append(f"<td>{shown}{small}</td>")
    kind = ' class="published"' if result.published else ""
    return (
        f"<tr{kind}><th>{escape(result.label)}</th><td class='n'>{result.n}</td>"
        f"<td>{number(result.valid_xml.value)}</td>{''.join(cells)}</tr>"
    )


def _answers(own: Sequence[Result]) -> str:
    heads = "".join(f"<th>{head}</th>" for head in answer_heads())
    rows = []
    for result in own:
        name, *cells = (escape(cell) for cell in answer_cells(result))
        rows.append(f"<tr><th>{name}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    return (
        "<h2>Answers</h2><p class='dim'>Text kept: the annotation without its tags is the reference, "
        "nothing invented and nothing lost. All authors right: every name of a citation, and no other."
        f"</p>{_scroll(heads, rows)}"
    )


def _notes(results: Sequence[Result]) -> str:
    notes = [
        "All values in percent; the small ranges are 95% intervals from a bootstrap over citing "
        "articles; – is undefined (nothing to find, or nothing predicted). Bold is the best run."
    ]
    if any(result.published for result in results):
        notes.append(
            "Grey rows are the paper's (RenoBench, tables 1-4), measured on the published 10,000 "
            "references: another data set, shown for orientation only."
        )
    return "".join(f"<p class='dim'>{note}</p>" for note in notes)


def _comparison(comparison: Comparison) -> str:
    rows = []
    for field, paired in comparison.fields.items():
        difference, ends, p, word = comparison_cells(paired)
        cells = f"<td>{difference}</td><td>{ends}</td><td>{p}</td><td class='word'>{word}</td>"
        rows.append(f"<tr><th>{HEADS.get(field, 'Overall')}</th>{cells}</tr>")
    heads = "<th>Field</th><th>Difference</th><th>95% interval</th><th>p</th><th class='word'>Verdict</th>"
    return (
        f"<h2>{escape(comparison.label)} against {escape(comparison.baseline)}</h2>"
        f"<p class='dim'>Lenient recall in points, on the same {comparison.n} references of "
        f"{comparison.articles} articles.</p>"
        f"{_scroll(heads, rows)}"
    )


def _slices(own: Sequence[Result]) -> str:
    drawn = heat_map(own)
    note = "Lenient recall, with its 95% interval where a slice has two citing articles or more."
    return f"<h2>Recall by slice</h2><p class='dim'>{note}</p>{drawn}" if drawn else ""


def _scroll(heads: str, rows: Sequence[str]) -> str:
    return (
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
