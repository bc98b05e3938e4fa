"""`reno review`: a human looks at wrong values, and the precision is corrected by what they find.

    reno review export runs/qwen --n 330 --out review
    reno review import verdicts.csv

The first writes a page for judging; the second reads its table back and keeps the result as a run that
leads to its evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reno_dspy.base.errors import InputError

if TYPE_CHECKING:
    from reno_dspy.measure.audit.corrected import Judged
    from reno_dspy.measure.review.sample import Corrected


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
    from reno_dspy.measure.review.sample import draw, export

    sample = draw(run_dir, n, seed, profile)
    table, page = export(sample, out)
    wrong = sum(wrong for _, wrong in sample.totals.values())
    click.echo(f"{len(sample.findings)} of {wrong} wrong values: {page} (or {table})")


@command.command("import")
@click.argument("verdicts", type=click.Path(path_type=Path))
@click.option(
    "--run",
    type=click.Path(path_type=Path),
    help="Directory of the evaluation.  [default: as the table says]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--tracking/--no-tracking",
    default=True,
    help="Keep the result with the evaluation and in MLflow.  [default: tracking]",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Of an audit: where the corrected gold goes.  [default: corrected.jsonl beside VERDICTS]",
)
def import_command(
    verdicts: Path, run: Path | None, as_json: bool, tracking: bool, out: Path | None
) -> None:
    """Read VERDICTS back, a table of `reno review export` or `reno audit` with its verdicts filled in.

    Of a review, report the corrected precision; of an audit, how often it was right, and write the
    corrected gold for `reno evaluate --gold`.
    """
    import json
    from dataclasses import asdict

    from reno_dspy.measure.audit.table import is_audit
    from reno_dspy.measure.review.table import first_line

    result: Mapping[str, Any]
    if is_audit(first_line(verdicts)):
        result = _import_audit(verdicts, out or verdicts.with_name("corrected.jsonl"))
        lines = _audit_lines(result)
    elif out is not None:
        raise InputError(f"{verdicts} is no audit, so --out has nothing to hold.")
    else:
        result = _kept(verdicts, run) if tracking else _read(verdicts)
        lines = _review_lines(result)
    if as_json:
        click.echo(json.dumps({name: asdict(one) for name, one in result.items()}, indent=2))
        return
    for name, *cells in lines:
        click.echo(f"{name:<17}{''.join(f'{cell:>12}' for cell in cells)}")


def _review_lines(result: Mapping[str, Corrected]) -> list[Sequence[str]]:
    from reno_dspy.measure.review.verdicts import HEADS, table

    return [HEADS, *table(result)]


def _audit_lines(result: Mapping[str, Judged]) -> list[Sequence[str]]:
    from reno_dspy.base.show import percent, shown

    heads = ("element", "found", "right", "wrong", "unclear", "right, %")
    lines: list[Sequence[str]] = [heads]
    for name, one in result.items():
        counts = (one.found, one.right, one.wrong, one.unclear)
        share = shown(percent(one.right, one.right + one.wrong))
        lines.append((name, *map(str, counts), share))
    return lines


def _import_audit(verdicts: Path, out: Path) -> dict[str, Judged]:
    from reno_dspy.base.jsonl import JsonlLog
    from reno_dspy.measure.audit.corrected import corrected, judged
    from reno_dspy.measure.audit.table import read

    rows = read(verdicts)
    golds = list(corrected(rows))
    if golds:
        JsonlLog(out).replace(golds)
    click.echo(f"{len(golds)} references with corrected gold: {out if golds else 'none'}", err=True)
    return judged(rows)


def _read(verdicts: Path) -> dict[str, Corrected]:
    from reno_dspy.measure.review.sample import read_verdicts

    return read_verdicts(verdicts)


def _kept(verdicts: Path, run: Path | None) -> dict[str, Corrected]:
    from reno_dspy.cli.tracking import open_tracker
    from reno_dspy.measure.review.verdicts import keep_review, run_of
    from tracking.runs import run_id_of

    run = run or run_of(verdicts)
    return keep_review(verdicts, run, run_id_of(run), open_tracker(True))
