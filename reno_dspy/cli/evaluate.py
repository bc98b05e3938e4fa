"""`reno evaluate`: measure a system on a data set."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reno_dspy.base.errors import InputError, RenoError
from reno_dspy.base.extras import require
from reno_dspy.cli.options import job_options
from reno_dspy.cli.systems import SystemCommand, open_system
from reno_dspy.measure.job import EvaluateConfig
from reno_dspy.systems import System

if TYPE_CHECKING:
    from tracking.traces import Render


@click.command("evaluate", cls=SystemCommand)
@job_options(EvaluateConfig)
def command(config: EvaluateConfig, *, fresh: bool, tracking: bool) -> None:
    """Measure a system on a data set.

    Writes predictions.jsonl, citations.csv and report.json to OUT. Running the same command again
    resumes an unfinished evaluation.
    """
    from reno_dspy.cli.tables import print_report
    from reno_dspy.cli.tracking import open_tracker
    from reno_dspy.data.dataset import load, splits_of
    from reno_dspy.measure.audit.corrected import with_gold
    from reno_dspy.measure.job import evaluate

    if config.trace is not None and not tracking:
        raise InputError("--trace writes to MLflow; leave out --no-tracking.")
    if config.trace is not None:
        require("track", "--trace")
    split = config.split or ("test" if "test" in splits_of(config.data) else None)
    dataset = load(
        config.data, split, config.limit, config.seed, strict=config.strict_data, with_text=True
    )
    if config.gold is not None:
        dataset, count = with_gold(dataset, config.gold)
        rows = len(dataset.rows)
        click.echo(f"{count} of {rows} references have their gold from {config.gold}.", err=True)
    with open_system(config, config.out / "server.log") as system:
        report = evaluate(config, system, dataset, open_tracker(tracking), fresh=fresh)
    print_report(report)
    click.echo(
        f"Written to {config.out} (report.json, predictions.jsonl, citations.csv).", err=True
    )
    if config.trace is not None:
        _trace(config.out, config.trace, system)


def _trace(run_dir: Path, count: str, system: System) -> None:
    """Write traces; a store that cannot be reached does not fail the evaluation."""
    from tracking.traces import log_traces

    try:
        log_traces(run_dir, None if count == "all" else int(count), _messages(system))
    except RenoError as error:
        click.echo(f"reno: No traces were written: {error}", err=True)


def _messages(system: System) -> Render | None:
    """How `system` words its requests; None for a system without a prompt."""
    prompt = getattr(system, "prompt", None)
    if prompt is None:
        return None
    from programs.chat_format import render_messages

    return partial(render_messages, prompt)
