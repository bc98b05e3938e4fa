"""`reno score`: score stored predictions again, without calling anything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reno_dspy.base.errors import InputError
from reno_dspy.measure.fields import FIELD_SETS, Fields

if TYPE_CHECKING:
    from reno_dspy.measure.records import Record


@click.command("score")
@click.argument("predictions", type=click.Path(path_type=Path))
@click.option(
    "--profile",
    type=click.Choice(["paper", "normalized"]),
    help="Metric profile.  [default: paper]",
)
@click.option(
    "--fields",
    type=click.Choice(list(FIELD_SETS)),
    help="The paper's fields, or all elements and the publication type.  [default: scored]",
)
@click.option(
    "--scorer",
    type=click.Choice(["reno", "grobid", "odoma"]),
    default="reno",
    show_default=True,
    help="Whose figures: ours, GROBID's end-to-end evaluation, or the "
    "SSH citation index's benchmark (Odoma).",
)
@click.option(
    "--gold",
    type=click.Path(path_type=Path),
    help="Corrected gold (.jsonl) for some or all of the rows.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(
    predictions: Path,
    profile: str | None,
    fields: Fields | None,
    scorer: str,
    gold: Path | None,
    as_json: bool,
) -> None:
    """Score PREDICTIONS, a predictions.jsonl(.gz) or a run directory that has one.

    Rows need `xml` (the gold) and `prediction` (the raw text); more columns give more slices.
    """
    from reno_dspy.cli.tables import print_report
    from reno_dspy.measure.audit.corrected import records_with_gold
    from reno_dspy.measure.records import read_predictions
    from reno_dspy.measure.report import make_report

    records: Sequence[Record] = read_predictions(predictions)
    if gold is not None:
        records, count = records_with_gold(records, gold)
        click.echo(f"{count} of {len(records)} references have their gold from {gold}.", err=True)
    if scorer != "reno":
        if profile or fields:
            raise InputError(f"--profile and --fields are ours; --scorer {scorer} takes neither.")
        _score_by(scorer, records, as_json)
        return
    report = make_report(records, profile or "paper", FIELD_SETS[fields or "scored"])
    if as_json:
        click.echo(json.dumps(report.to_json(), ensure_ascii=False, indent=2))
    else:
        print_report(report)


def _score_by(scorer: str, records: Sequence[Record], as_json: bool) -> None:
    from reno_dspy.cli.tables import print_figures
    from reno_dspy.measure.scorers import SCORERS

    figures = SCORERS[scorer](records)
    if as_json:
        click.echo(json.dumps(figures.to_json(), ensure_ascii=False, indent=2))
    else:
        print_figures(figures)
