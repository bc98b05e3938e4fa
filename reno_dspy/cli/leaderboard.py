"""`reno leaderboard`: the best run of every system on one data set."""

from __future__ import annotations

import click

from reno_dspy.jats.citation import FIELDS

RANKED_BY = (*FIELDS, "overall")
MEASURES = ("recall_lenient", "precision_lenient", "recall_strict", "precision_strict")


@click.command("leaderboard")
@click.option("--data", help="Data set's name or digest.  [default: that of the newest evaluation]")
@click.option("--profile", default="paper", show_default=True, help="Metric profile.")
@click.option("--measure", type=click.Choice(MEASURES), default=MEASURES[0], show_default=True)
@click.option("--field", type=click.Choice(RANKED_BY), default="overall", show_default=True)
@click.option("--published", is_flag=True, help="Show the paper's rows below.")
def command(data: str | None, profile: str, measure: str, field: str, published: bool) -> None:
    """Rank systems by their best finished evaluation in the MLflow store."""
    from dataclasses import replace

    from rich.console import Console

    from tracking.compare.leaderboard import leaderboard
    from tracking.compare.results import published_results
    from tracking.compare.tables import PUBLISHED_NOTE, terminal_table
    from tracking.store import open_existing

    board = leaderboard(open_existing(), data, profile, measure, field)
    rows = [
        replace(row, label=f"{rank}. {row.label} ({str(row.run_id)[:8]})")
        for rank, row in enumerate(board.rows, start=1)
    ]
    console = Console()
    ranked = f"{board.data} ({board.digest[:12]}), profile {board.profile}, by {field}"
    console.print(ranked, highlight=False, markup=False)
    console.print(terminal_table([*rows, *(published_results() if published else [])], measure))
    if published:
        console.print(f"Dim rows: {PUBLISHED_NOTE}, n = 10,000.", style="dim", highlight=False)
    if board.others:
        others = ", ".join(board.others)
        console.print(f"Other data (--data): {others}", style="dim", highlight=False, markup=False)
