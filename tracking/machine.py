"""The machine's load during a run: CPU, memory, disk, network, GPU, as MLflow's system metrics."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

# Short jobs end before the first sample, so that only long ones carry these metrics.
_SECONDS = 15


@contextmanager
def watching_the_machine(run_id: str | None, uri: str) -> Iterator[None]:
    """Log the machine's load to the run every 15 seconds; a run that no store has is not watched.

    It is not kept in the journal, so a run that is logged later has none.
    """
    if run_id is None:
        yield
        return
    from mlflow.exceptions import MlflowException
    from mlflow.system_metrics.system_metrics_monitor import SystemMetricsMonitor

    logging.getLogger("mlflow.system_metrics").setLevel(logging.CRITICAL)
    try:
        monitor = SystemMetricsMonitor(
            run_id, sampling_interval=_SECONDS, resume_logging=True, tracking_uri=uri
        )
    except MlflowException:
        # The store has just gone away; the journal's sender reports that.
        yield
        return
    monitor.start()
    try:
        yield
    finally:
        monitor.finish()
