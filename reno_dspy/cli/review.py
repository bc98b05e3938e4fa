"""`reno review`: a human looks at wrong values, and the precision is corrected by what they find.

    reno review export runs/qwen --n 330 --out review
    reno review import verdicts.csv

The first writes a page for judging, the second reads its table back.
"""

from __future__ import annotations

from pathlib import Path

import click


@click.group("review")
def command() -> None:
    """Sample wrong values for human review; report the corrected precision."""


@command.command("export")
@click.argument("run_dir", type=click.Path(path_type=Path))
@click.option(
    "--n", type=click.IntRange(min=1), default=330, show_default=True, help="Values to draw."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the draw.")
@click.option(
    "--profile",
    type=click.Choice(["paper", "normalized"]),
    help="What counts as wrong.  [default: as in the run]",
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder to write to.")
def export_command(run_dir: Path, n: int, seed: int, profile: str | None, out: Path) -> None:
    """Draw wrong values of the evaluation in RUN_DIR, evenly over the fields.

    OUT/review.html works without a network and keeps verdicts in the browser; OUT/review.csv is the
    same for a spreadsheet. Verdicts are `right` (the gold lacks it), `wrong` and `unclear`.
    """
    from reno_dspy.review import draw, export

    sample = draw(run_dir, n, seed, profile)
    table, page = export(sample, out)
    wrong = sum(wrong for _, wrong in sample.totals.values())
    click.echo(f"{len(sample.findings)} of {wrong} wrong values: {page} (or {table})")


@command.command("import")
@click.argument("verdicts", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def import_command(verdicts: Path, as_json: bool) -> None:
    """Report the precision corrected by VERDICTS, the table with its verdicts filled in."""
    import json
    from dataclasses import asdict

    from reno_dspy.review import read_verdicts

    result = read_verdicts(verdicts)
    if as_json:
        click.echo(json.dumps({name: asdict(one) for name, one in result.items()}, indent=2))
        return
    click.echo(
        f"{'field':<14}{'judged':>8}{'right':>7}{'unclear':>9}{'precision':>11}{'corrected':>11}"
        f"{'95% interval':>16}"
    )
    for name, one in result.items():
        judged = one.right_verdicts + one.wrong_verdicts
        ends = one.interval
        interval = f"{100 * ends.low:.1f} to {100 * ends.high:.1f}" if ends else "–"
        click.echo(
            f"{name:<14}{judged:>8}{one.right_verdicts:>7}{one.unclear:>9}"
            f"{_percent(one.precision):>11}{_percent(one.corrected):>11}{interval:>16}"
        )


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"
