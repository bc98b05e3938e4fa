"""Evaluations side by side, in the layout of the paper's tables 1-4.

    reno compare runs/embedded runs/crf --published --out runs/comparison

Writes `comparison.md`, `.csv` and `.html` and keeps them as a run of its own, so that a comparison can be
found again in the MLflow UI.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reno_dspy.base.errors import InputError
from reno_dspy.base.files import digest, write_text
from reno_dspy.base.rundir import RunDir
from reno_dspy.base.tracker import Run, Tracker
from tracking.compare.html import html_report
from tracking.compare.paired import Comparison, compare_with_first, markdown_comparison
from tracking.compare.results import (
    RECALL,
    Result,
    check_comparable,
    load_results,
    published_results,
)
from tracking.compare.tables import csv_table, markdown_answers, markdown_table, number, titles
from tracking.runs import compare_link

NAME = "comparison"
DEFAULT_FOLDER = Path("runs") / "compare"


@dataclass(frozen=True)
class Compared:
    """What was compared, and where it was written. `results` begins with our own runs."""

    results: Sequence[Result]
    comparisons: Sequence[Comparison]
    out: Path
    warning: str | None


def compare(
    names: Sequence[str],
    tracker: Tracker,
    *,
    with_published: bool = False,
    out: Path | None = None,
    allow_different: bool = False,
    fresh: bool = False,
) -> Compared:
    """Compare evaluations (run directories, run ids or names) and write the comparison.

    `fresh` replaces another comparison in `out`. Raises InputError for what is no evaluation, for an
    `out` that holds something else, and for different data sets or metric profiles unless
    `allow_different`; then the difference is said in every output.
    """
    own = load_results(names)
    warning = _warning(own, allow_different)
    comparisons = compare_with_first(own)
    results = [*own, *(published_results() if with_published else [])]
    out = out or DEFAULT_FOLDER / _digest(names, with_published)
    options = {"runs": list(names), "published": with_published}
    compared = Compared(results, comparisons, out, warning)
    title = " vs ".join(result.label for result in own)
    with (
        # Nothing of an earlier comparison is used: it is written anew from the evaluations as they are.
        RunDir.open(out, "compare", options, depends_on={}, fresh=fresh) as run_dir,
        tracker.start("compare", title, run_dir=run_dir.path, config=options) as run,
    ):
        _write(compared)
        _tell(run, compared, own)
    return compared


def markdown_report(compared: Compared) -> str:
    """All tables and paired differences in Markdown."""
    parts = [f"> {compared.warning}\n"] if compared.warning else []
    for measure, title in titles(compared.results).items():
        parts.append(f"## {title}\n\n{markdown_table(compared.results, measure)}")
    parts.append(f"## Answers\n\n{markdown_answers(compared.results)}")
    parts.extend(markdown_comparison(comparison) for comparison in compared.comparisons)
    return "\n".join(parts)


def _warning(own: Sequence[Result], allow_different: bool) -> str | None:
    try:
        check_comparable(own)
    except InputError as error:
        if not allow_different:
            raise
        return str(error).rpartition("\n")[0]
    return None


def _write(compared: Compared) -> None:
    page = html_report(compared.results, compared.comparisons, compared.warning)
    write_text(compared.out / f"{NAME}.md", markdown_report(compared))
    write_text(compared.out / f"{NAME}.csv", csv_table(compared.results))
    write_text(compared.out / f"{NAME}.html", page)


def _tell(run: Run, compared: Compared, own: Sequence[Result]) -> None:
    ids = [result.run_id for result in own if result.run_id]
    run.tags({"data": own[0].data, "profile": own[0].profile, "uses.runs": " ".join(ids)})
    if len(compared.comparisons) == 1:
        fields = compared.comparisons[0].fields
        run.metrics({
            f"difference/recall/lenient/{name}": 100 * paired.difference if paired else None
            for name, paired in fields.items()
        })  # fmt: skip
    for ending in ("html", "md", "csv"):
        run.artifact(compared.out / f"{NAME}.{ending}")
    run.describe(_description(compared, own))


def _description(compared: Compared, own: Sequence[Result]) -> str:
    lines = [
        f"{len(own)} runs on {own[0].data} (n = {own[0].n}, profile `{own[0].profile}`): "
        + "; ".join(
            f"{_linked(result)} valid XML {number(result.valid_xml.value)}" for result in own
        )
        + "."
    ]
    linked = [result for result in own if result.run_id and result.link]
    if len(linked) > 1:
        experiments = sorted({str(result.link).split("/")[2] for result in linked})
        link = compare_link([str(result.run_id) for result in linked], experiments)
        lines.append(f"[These runs side by side]({link}) – the report is `{NAME}.html`.")
    lines.append(markdown_table(own, RECALL))
    return "\n\n".join(lines)


def _linked(result: Result) -> str:
    return f"[{result.label}]({result.link})" if result.link else result.label


def _digest(names: Sequence[str], with_published: bool) -> str:
    text = "\0".join([*names, str(with_published)])
    return digest(text, 12)
