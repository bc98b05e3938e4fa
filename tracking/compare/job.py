"""Evaluations side by side, in the layout of the paper's tables 1-4.

    reno compare runs/embedded runs/crf --published --out runs/comparison

Writes `comparison.md`, `.csv` and `.html`, and `changes.html` to click through the references whose answer
changed. They are kept as a run of its own, so that a comparison can be found again in the MLflow UI.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reno_dspy.base.errors import InputError
from reno_dspy.base.files import digest, write_text
from reno_dspy.base.rundir import RunDir
from reno_dspy.base.tracker import Run, Tracker
from reno_dspy.measure.measures import COMPARED, MEASURES
from tracking.compare.changes import changes_page
from tracking.compare.compared import Compared
from tracking.compare.grid import answers_grid, csv_table, markdown, measure_grid
from tracking.compare.html import html_report
from tracking.compare.paired import Comparison, compare_with_first
from tracking.compare.results import (
    Result,
    check_comparable,
    load_results,
    published_results,
)
from tracking.runs import compare_link

NAME = "comparison"
CHANGES = "changes.html"
DEFAULT_FOLDER = Path("runs") / "compare"


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
    with (
        # Nothing of an earlier comparison is used: it is written anew from the evaluations as they are.
        RunDir.open(out, "compare", options, depends_on={}, fresh=fresh) as run_dir,
        tracker.start("compare", compared.title, run_dir=run_dir.path, config=options) as run,
    ):
        _log(run, compared, _write(compared))
    return compared


def markdown_report(compared: Compared) -> str:
    """The verdict, what differs, all tables and paired differences, in Markdown."""
    parts = [f"> {compared.warning}\n"] if compared.warning else []
    parts += [f"- {sentences}" for sentences in compared.verdicts]
    parts += [f"\n## {grid.title}\n\n{markdown(grid)}" for grid in compared.grids]
    for diff in compared.prompts:
        lines = "\n".join(diff.lines)
        parts.append(f"\n## Prompt of {diff.label}\n\n```diff\n{lines}\n```")
    return "\n".join(parts) + "\n"


def _warning(own: Sequence[Result], allow_different: bool) -> str | None:
    try:
        check_comparable(own)
    except InputError as error:
        if not allow_different:
            raise
        return str(error).rpartition("\n")[0]
    return None


def _write(compared: Compared) -> list[str]:
    """Write the comparison; returns the names of its files."""
    texts = {
        f"{NAME}.html": html_report(compared),
        f"{NAME}.md": markdown_report(compared),
        f"{NAME}.csv": csv_table(compared.results),
    }
    if compared.comparisons:
        texts[CHANGES] = changes_page(compared.comparisons, compared.changed)
    for name, text in texts.items():
        write_text(compared.out / name, text)
    return list(texts)


def _log(run: Run, compared: Compared, files: Sequence[str]) -> None:
    own = compared.own
    ids = [result.run_id for result in own if result.run_id]
    first = own[0].report
    run.tags({"data": str(first.data), "profile": first.profile, "uses.runs": " ".join(ids)})
    if len(compared.comparisons) == 1:
        run.metrics(_differences(compared.comparisons[0]))
    for name in files:
        run.artifact(compared.out / name)
    run.describe(_description(compared))


def _differences(comparison: Comparison) -> dict[str, float | None]:
    """Differences in points as metrics: `difference/recall/lenient/surname`, `difference/whole_right`."""
    shares = {share.name for share in COMPARED}
    return {
        f"difference/{name}" if name in shares else f"difference/recall/lenient/{name}": (
            100 * paired.difference if paired else None
        )
        for name, paired in comparison.differences.items()
    }


def _description(compared: Compared) -> str:
    own = compared.own
    first = own[0].report
    lines = [
        f"{len(own)} runs on {first.data} (n = {first.n}, profile `{first.profile}`): "
        + ", ".join(map(_linked, own))
        + ".",
        *compared.verdicts,
    ]
    linked = [result for result in own if result.run_id and result.link]
    if len(linked) > 1:
        experiments = sorted({str(result.link).split("/")[2] for result in linked})
        link = compare_link([str(result.run_id) for result in linked], experiments)
        lines.append(f"[These runs side by side]({link}) – the report is `{NAME}.html`.")
    lines += [markdown(answers_grid(own)), markdown(measure_grid(own, MEASURES[0]))]
    return "\n\n".join(lines)


def _linked(result: Result) -> str:
    return f"[{result.label}]({result.link})" if result.link else result.label


def _digest(names: Sequence[str], with_published: bool) -> str:
    text = "\0".join([*names, str(with_published)])
    return digest(text, 12)
