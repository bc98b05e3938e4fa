"""What tracking costs: the leaderboard over 200 runs, and an evaluation with and without MLflow.

    python benchmarks/tracked_runs.py

The leaderboard should answer within 3 s of mlflow's own import; tracking should add under 5 % to an
evaluation of 2,000 references against an endpoint that takes 20 ms (64 at once).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
from evaluating import ANSWER, _system, endpoint

if TYPE_CHECKING:
    from reno_dspy.base.tracker import Tracker


@click.command()
@click.option("--runs", default=200, show_default=True)
@click.option("--references", default=2_000, show_default=True)
@click.option("--rounds", default=3, show_default=True, help="Best of that many, alternating.")
def main(runs: int, references: int, rounds: int) -> None:
    """Print both figures."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MLFLOW_TRACKING_URI"] = f"sqlite:///{folder}/mlruns/mlflow.db"
        leaderboard_of(runs)
        overhead(Path(folder), references, rounds)


def leaderboard_of(runs: int) -> None:
    """Seconds of `reno leaderboard` over so many runs, and of `import mlflow` alone."""
    fill_store(runs)
    alone = min(_seconds("from mlflow.tracking import MlflowClient") for _ in range(3))
    code = "import sys; sys.argv = ['reno', 'leaderboard']; from reno_dspy.cli import main; main()"
    whole = min(_seconds(code) for _ in range(3))
    click.echo(f"leaderboard of {runs} runs: {whole:.1f} s, of which mlflow's import {alone:.1f} s")


def fill_store(runs: int) -> None:
    """Write evaluation runs with all their metrics."""
    from reno_dspy.base.tracker import DataRef
    from reno_dspy.measure.report import make_report
    from tracking.mlflow_tracker import MlflowTracker

    record = {"xml": ANSWER, "prediction": ANSWER, "plaintext": "Smith", "error": None}
    metrics = make_report([record], "paper").to_metrics()
    for number in range(runs):
        with (
            tempfile.TemporaryDirectory() as out,
            MlflowTracker().start("evaluate", f"run {number}", run_dir=Path(out), config={}) as run,
        ):
            run.tags({"system": f"system {number % 20}", "profile": "paper"})
            run.data(DataRef("made", "0123456789abcdef", "made", 1), "test")
            run.metrics(metrics)


def overhead(folder: Path, references: int, rounds: int) -> None:
    """Seconds of whole evaluations, in turn with and without tracking."""
    from reno_dspy.base.tracker import NullTracker
    from tracking.mlflow_tracker import MlflowTracker

    best = {"without": float("inf"), "with": float("inf")}
    with endpoint() as url:
        for number in range(rounds):
            for name, tracker in (("without", NullTracker()), ("with", MlflowTracker())):
                seconds = evaluate_once(url, references, folder / f"{name}-{number}", tracker)
                best[name] = min(best[name], seconds)
    share = 100 * (best["with"] / best["without"] - 1)
    click.echo(
        f"evaluation of {references} references: {best['without']:.2f} s, "
        f"with tracking {best['with']:.2f} s ({share:+.1f} %)"
    )


def evaluate_once(url: str, references: int, out: Path, tracker: Tracker) -> float:
    """Seconds of one evaluation, scoring and report included."""
    from reno_dspy.data.dataset import Dataset, Row
    from reno_dspy.measure.job import EvaluateConfig, evaluate

    texts = [f"Smith A. On things {i}. J Made Up. 2014;{i}." for i in range(references)]
    rows = tuple(Row(None, text, ANSWER, "made", citing_article_id=text) for text in texts)
    config = EvaluateConfig(system="made", data="made", out=out, concurrency=64)
    started = time.monotonic()
    evaluate(config, _system(url), Dataset(rows, "made", "made", None), tracker)
    return time.monotonic() - started


def _seconds(code: str) -> float:
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


if __name__ == "__main__":
    main()
