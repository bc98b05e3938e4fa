"""`reno train-crf`: train the classical baseline.

reno train-crf --data train.jsonl --test test.jsonl --out runs/crf
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reno_dspy.cli.options import job_options
from reno_dspy.cli.tracking import open_tracker
from reno_dspy.systems.crf.training import TrainCrfConfig

if TYPE_CHECKING:
    from reno_dspy.base.tracker import Run
    from reno_dspy.data.dataset import Dataset
    from reno_dspy.systems.crf.model import Crf


@click.command("train-crf")
@job_options(TrainCrfConfig)
def command(config: TrainCrfConfig, *, fresh: bool, tracking: bool) -> None:
    """Train a linear-chain CRF on pairs of plain text and JATS.

    The model is one file, OUT/crf.crfsuite, which `reno evaluate --system` takes. The manifest beside
    it, OUT/crf.json, names the data and their licences and has the figures on --test.
    """
    from reno_dspy.base.rundir import RunDir
    from reno_dspy.data.dataset import load
    from reno_dspy.systems.crf.training import train

    def measured(crf: Crf) -> dict[str, Any]:
        return _measured(crf, test, run) if test else {}

    strict = config.strict_data
    data = load(config.data, config.split, config.limit, config.seed, strict=strict)
    test = None
    if config.test:
        test = load(config.test, config.test_split, strict=strict, with_text=True)
    inputs = {"data_digest": data.digest, "test_digest": test.digest if test else None}
    options = config.model_dump(mode="json")
    with (
        RunDir.open(
            config.out, "train-crf", config.identity(), depends_on=inputs, fresh=fresh
        ) as run_dir,
        open_tracker(tracking).start(
            "train-crf", config.out.name, run_dir=config.out, config=options
        ) as run,
    ):
        model = train(data, run_dir, run, config, measured)
    click.echo(f"{model} ({model.stat().st_size / 1e6:.1f} MB)")


def _measured(crf: Crf, test: Dataset, run: Run) -> dict[str, Any]:
    """The figures of a finished model on `test`, for its manifest; they also go to the tracker."""
    from reno_dspy.measure.in_memory import measure
    from reno_dspy.measure.measures import PRECISION, RECALL

    run.data(test.ref(), "test")
    report = measure(crf, test.rows)
    run.metrics(report.to_metrics())
    figures = {
        name: {
            "recall": field.value(RECALL),
            "precision": field.value(PRECISION),
            "gold": field.counts["gold"],
        }
        for name, field in report.fields.items()
    }
    return {"test": {"digest": test.digest, "rows": len(test.rows)}, "figures": figures}
