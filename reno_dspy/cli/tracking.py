"""The tracker that a command hands to its job."""

from __future__ import annotations

import signal

from reno_dspy.base.tracker import Tracker


def open_tracker(tracking: bool) -> Tracker:
    """MLflow; with `--no-tracking`, only the journal in the run directory (no store is touched).

    From here on a terminated job (SIGTERM) ends as an interrupted one (Ctrl-C) does.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if not tracking:
        from tracking.journal import JournalTracker

        return JournalTracker()
    from tracking.mlflow_tracker import MlflowTracker

    return MlflowTracker()
