"""The tracker that a command hands to its job."""

from __future__ import annotations

import signal
from importlib.util import find_spec

import click

from reno_dspy.base.tracker import Tracker


def open_tracker(tracking: bool) -> Tracker:
    """MLflow; with `--no-tracking` or without MLflow, only the journal in the run directory.

    From here on a terminated job (SIGTERM) ends as an interrupted one (Ctrl-C) does.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if tracking and find_spec("mlflow") is None:
        click.echo(
            "reno: MLflow is not installed, so this run is recorded in its directory only. "
            "`pip install 'reno-dspy[track]'`, then `reno runs log DIR`, adds it to MLflow.",
            err=True,
        )
        tracking = False
    if not tracking:
        from tracking.journal import JournalTracker

        return JournalTracker()
    from tracking.mlflow_tracker import MlflowTracker

    return MlflowTracker()
