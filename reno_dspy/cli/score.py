"""`reno score`: score stored predictions again, without calling anything."""

from __future__ import annotations

import json
from pathlib import Path

import click

from reno_dspy.measure.fields import FIELD_SETS, Fields


@click.command("score")
@click.argument("predictions", type=click.Path(path_type=Path))
@click.option("--profile", type=click.Choice(["paper", "normalized"]), default="paper",
              show_default=True, help="Metric profile.")  # fmt: skip
@click.option("--fields", type=click.Choice(list(FIELD_SETS)), default="scored", show_default=True,
              help="The paper's fields, or all elements and the publication type.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the whole report as JSON.")
def command(predictions: Path, profile: str, fields: Fields, as_json: bool) -> None:
    """Score PREDICTIONS, a predictions.jsonl(.gz) or a run directory that has one.

    Rows need `xml` (the gold) and `prediction` (the raw text); more columns give more slices.
    """
    from reno_dspy.cli.tables import print_report
    from reno_dspy.measure.records import read_predictions
    from reno_dspy.measure.report import make_report

    report = make_report(read_predictions(predictions), profile, FIELD_SETS[fields])
    if as_json:
        click.echo(json.dumps(report.to_json(), ensure_ascii=False, indent=2))
    else:
        print_report(report)
