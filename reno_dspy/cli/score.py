"""`reno score`: score stored predictions again, without calling anything."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command("score")
@click.argument("predictions", type=click.Path(path_type=Path))
@click.option("--profile", type=click.Choice(["paper", "normalized"]), default="paper",
              show_default=True, help="Metric profile.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the whole report as JSON.")
def command(predictions: Path, profile: str, as_json: bool) -> None:
    """Score PREDICTIONS, a predictions.jsonl(.gz) or a run directory that has one.

    Rows need `xml` (the gold) and `prediction` (the raw text); more columns give more slices.
    """
    from reno_dspy.base.errors import InputError
    from reno_dspy.cli.tables import print_report
    from reno_dspy.data.dataset import read_records
    from reno_dspy.measure.job import PREDICTIONS
    from reno_dspy.measure.report import make_report

    file = predictions / PREDICTIONS if predictions.is_dir() else predictions
    records = list(read_records(file))
    if not records:
        raise InputError(f"{file} holds no predictions.")
    report = make_report(records, profile)
    if as_json:
        click.echo(json.dumps(report.to_json(), ensure_ascii=False, indent=2))
    else:
        print_report(report)
