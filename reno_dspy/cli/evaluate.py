"""`reno evaluate`: measure a system on a data set."""

from __future__ import annotations

from pathlib import Path

import click

from reno_dspy.base.errors import InputError, RenoError
from reno_dspy.cli.options import job_options
from reno_dspy.cli.systems import SystemCommand, open_system
from reno_dspy.measure.job import EvaluateConfig
from reno_dspy.systems import System


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
    from reno_dspy.measure.job import evaluate

    if config.trace is not None and not tracking:
        raise InputError("--trace writes to MLflow; leave out --no-tracking.")
    split = config.split or ("test" if "test" in splits_of(config.data) else None)
    dataset = load(config.data, split, config.limit, config.seed)
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
    from programs.chat_format import render_messages
    from tracking.traces import log_traces

    prompt = getattr(system, "prompt", None)
    render = (lambda reference: render_messages(prompt, reference)) if prompt else None
    try:
        log_traces(run_dir, None if count == "all" else int(count), render)
    except RenoError as error:
        click.echo(f"reno: No traces were written: {error}", err=True)
