"""`reno compare`: runs side by side, in the layout of the paper's tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tracking.compare.compared import Compared


@click.command("compare")
@click.argument("runs", nargs=-1, required=True)
@click.option("--published", is_flag=True, help="Show the paper's tables 1-4 beside the runs.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Where Markdown, CSV and HTML go.  [default: runs/compare/<name by what is compared>]",
)
@click.option(
    "--allow-different",
    is_flag=True,
    help="Compare in spite of different data sets or metric profiles; every output says so.",
)
@click.option("--fresh", is_flag=True, help="Replace another comparison in --out.")
@click.option("--tracking/--no-tracking", default=True, help="Log to MLflow.  [default: tracking]")
def command(
    runs: tuple[str, ...],
    published: bool,
    out: Path | None,
    allow_different: bool,
    fresh: bool,
    tracking: bool,
) -> None:
    """Compare evaluations: RUNS are run directories, MLflow run ids or run names.

    The first run is the baseline of the paired differences. Prints the verdict, the options and prompts
    that differ, and the tables; writes them to OUT as Markdown, CSV and HTML, and a page to click
    through the references whose answer changed.
    """
    from reno_dspy.cli.tracking import open_tracker
    from tracking.compare.job import compare

    compared = compare(
        runs,
        open_tracker(tracking),
        with_published=published,
        out=out,
        allow_different=allow_different,
        fresh=fresh,
    )
    _show(compared)


def _show(compared: Compared) -> None:
    from reno_dspy.base.show import console
    from tracking.compare.grid import PUBLISHED_NOTE
    from tracking.compare.job import CHANGES, NAME
    from tracking.compare.terminal import tables

    out = console()
    if compared.warning:
        out.print(f"{compared.warning}\n", style="yellow", highlight=False, markup=False)
    for sentences in compared.verdicts:
        out.print(f"{sentences}\n", highlight=False, markup=False)
    for grid in compared.grids:
        for table in tables(grid, out.width):
            out.print(table)
            out.print()
    for diff in compared.prompts:
        out.print("\n".join([*diff.lines, ""]), highlight=False, markup=False)
    if any(result.published for result in compared.results):
        out.print(f"Dim rows: {PUBLISHED_NOTE}, n = 10,000; for orientation only.", style="dim")
    more = f" and {CHANGES} (references whose answer changed)" if compared.comparisons else ""
    written = f"Written: {compared.out / NAME}.html, .md, .csv{more}"
    out.print(written, soft_wrap=True, markup=False, highlight=False)
