"""`reno leaderboard`: the best run of every system on one data set."""

from __future__ import annotations

import click

from reno_dspy.jats.elements import SCORED
from reno_dspy.measure.measures import MEASURES, SHARES

RANKED_BY = (*(measure.name for measure in MEASURES), *(share.name for share in SHARES))


@click.command("leaderboard")
@click.option("--data", help="Data set's name or digest.  [default: that of the newest evaluation]")
@click.option("--profile", default="paper", show_default=True, help="Metric profile.")
@click.option(
    "--measure",
    type=click.Choice(RANKED_BY),
    default=RANKED_BY[0],
    show_default=True,
    help="What ranks: a measure of --field, or a share of the references.",
)
@click.option(
    "--field", type=click.Choice((*SCORED, "overall")), default="overall", show_default=True
)
@click.option("--published", is_flag=True, help="Show the paper's rows below.")
def command(data: str | None, profile: str, measure: str, field: str, published: bool) -> None:
    """Rank systems by their best finished evaluation in the MLflow store."""
    from dataclasses import replace

    from reno_dspy.base.show import console
    from tracking.compare.grid import PUBLISHED_NOTE, answers_grid, measure_grid
    from tracking.compare.leaderboard import leaderboard
    from tracking.compare.results import published_results
    from tracking.compare.terminal import tables
    from tracking.store import open_existing

    by_name = {one.name: one for one in MEASURES}
    ranked = by_name.get(measure)
    metric = f"{ranked.metric}/{field}" if ranked else measure
    board = leaderboard(open_existing(), data, profile, metric)
    rows = [
        replace(row, label=f"{rank}. {row.label} ({str(row.run_id)[:8]})")
        for rank, row in enumerate(board.rows, start=1)
    ]
    out = console()
    head = f"{board.data} ({board.digest[:12]}), profile {board.profile}, by {metric}"
    out.print(head, highlight=False, markup=False)
    shown = [*rows, *(published_results() if published else [])]
    for grid in (measure_grid(shown, ranked or MEASURES[0]), answers_grid(rows)):
        for table in tables(grid, out.width):
            out.print(table)
            out.print()
    if published:
        out.print(f"Dim rows: {PUBLISHED_NOTE}, n = 10,000.", style="dim", highlight=False)
    if board.others:
        others = ", ".join(board.others)
        out.print(f"Other data (--data): {others}", style="dim", highlight=False, markup=False)
