"""`reno audit`: values that several systems agree on and the gold lacks or contradicts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reno_dspy.measure.audit.findings import Finding
    from reno_dspy.measure.audit.votes import Ballot


@click.command("audit")
@click.argument("predictions", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder to write to.")
@click.option(
    "--voters",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="How many voters must agree; the rules for annotations count as one.",
)
@click.option(
    "--sure",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Leave out what is less sure.",
)
def command(predictions: tuple[Path, ...], out: Path, voters: int, sure: float) -> None:
    """Find errors of the gold from PREDICTIONS, run directories or files of two systems or more.

    All must be of the same data. OUT/audit.csv is a table, the surest findings first; OUT/audit.html is
    the same as a page for judging. `reno review import` reads the verdicts back and writes the corrected
    gold, which `reno evaluate --gold` and `reno score --gold` measure on.
    """
    from reno_dspy.measure.audit.ballots import read_ballots
    from reno_dspy.measure.audit.findings import audit
    from reno_dspy.measure.audit.table import export

    ballots = read_ballots(predictions)
    findings = audit(ballots, voters, sure)
    table, page = export(findings, out)
    _show(ballots, findings)
    click.echo(f"{len(findings)} findings: {page} (or {table})")


def _show(ballots: Sequence[Ballot], findings: Sequence[Finding]) -> None:
    from rich.table import Table

    from reno_dspy.base.show import console, percent, shown
    from reno_dspy.measure.audit.findings import by_field, wrong_values

    out = console()
    table = Table(box=None, padding=(0, 2, 0, 0))
    for head in ("Element", "Gold lacks it", "Gold has another"):
        table.add_column(head, justify="left" if head == "Element" else "right")
    for name, (lacks, contradicts) in by_field(findings).items():
        table.add_row(name, str(lacks), str(contradicts))
    out.print(table)
    out.print()
    for name, (wrong, agreed) in wrong_values(ballots, findings).items():
        share = shown(percent(agreed, wrong))
        out.print(
            f"{name}: {wrong} values are not in the gold; of {agreed} ({share}%) the audit says "
            "that the gold errs.",
            highlight=False,
            markup=False,
        )
