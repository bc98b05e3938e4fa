"""`reno calibrate`: fit a model's confidence to references that it never saw."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import click

from reno_dspy.cli.options import job_options
from reno_dspy.cli.systems import SystemCommand, open_system
from reno_dspy.measure.calibrate import CalibrateConfig


@click.command("calibrate", cls=SystemCommand)
@job_options(CalibrateConfig, tracked=False, resumed=False)
def command(config: CalibrateConfig) -> None:
    """Fit a model's confidence to references that it was not trained on.

    The result is a small file beside the model, from where the model is used: FILE.calibration.json for
    a CRF, model.calibration.json for a tagger. Do not measure on the references of --data afterwards.
    """
    from reno_dspy.data.dataset import load, splits_of
    from reno_dspy.measure.calibrate import calibrate

    split = config.split or ("dev" if "dev" in splits_of(config.data) else None)
    data = load(config.data, split, strict=config.strict_data, with_text=True)
    with TemporaryDirectory() as folder, open_system(config, Path(folder) / "server.log") as system:
        made, file = calibrate(system, data, config.out)
    before, after = made.ece
    click.echo(
        f"Calibrated on {made.references} of {len(data.rows)} references and {made.values} values: "
        f"expected calibration error {before:.3f} before, {after:.3f} after (cross-validated)."
    )
    click.echo(f"Written to {file}", err=True)
