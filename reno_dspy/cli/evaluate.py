"""`reno evaluate`: measure a system on a data set."""

from __future__ import annotations

from pathlib import Path

import click

from reno_dspy.cli.options import job_options
from reno_dspy.measure.job import EvaluateConfig
from reno_dspy.systems import System


@click.command("evaluate")
@job_options(EvaluateConfig)
def command(config: EvaluateConfig, *, fresh: bool, tracking: bool) -> None:
    """Measure a system on a data set.

    The system is `tagger`, `embedded` (the small model with its adapter), `smollm2-135m` (the same,
    bare), `crf`, `grobid`, `anystyle`, a recipe that ships (`qwen3-0.6b`, ...), or a recipe file. Writes
    predictions.jsonl, citations.csv and report.json to OUT; the same command again resumes.
    """
    from reno_dspy.cli.systems import open_system
    from reno_dspy.cli.tables import print_report
    from reno_dspy.cli.tracking import open_tracker
    from reno_dspy.data.dataset import load, splits_of
    from reno_dspy.measure.job import evaluate

    split = config.split or ("test" if "test" in splits_of(config.data) else None)
    dataset = load(config.data, split, config.limit, config.seed)
    with open_system(config, config.out / "server.log") as system:
        report = evaluate(config, system, dataset, open_tracker(tracking), fresh=fresh)
        if config.trace is not None and tracking:
            _trace(config.out, config.trace, system)
    print_report(report)
    click.echo(
        f"Written to {config.out} (report.json, predictions.jsonl, citations.csv).", err=True
    )


def _trace(run_dir: Path, count: str, system: System) -> None:
    from programs.chat_format import render_messages
    from tracking.traces import log_traces

    prompt = getattr(system, "prompt", None)
    render = (lambda reference: render_messages(prompt, reference)) if prompt else None
    log_traces(run_dir, None if count == "all" else int(count), render)
