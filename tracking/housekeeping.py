"""Runs that nobody ends: found, closed, and put away."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tracking.environment import PROCESS
from tracking.runs import all_runs

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient


@dataclass(frozen=True)
class Cleaning:
    """What there is to clean: runs to close as KILLED, and runs to move to MLflow's trash."""

    close: Sequence[Run]
    delete: Sequence[Run]


def plan_cleaning(client: MlflowClient, *, delete_failed: bool = False) -> Cleaning:
    """Find RUNNING runs whose process on this machine is gone and, on request, the unfinished ones."""
    running = all_runs(client, filter_string="attributes.status = 'RUNNING'")
    gone = [run for run in running if _is_gone(run, running)]
    failed: list[Run] = []
    if delete_failed:
        for status in ("FAILED", "KILLED"):
            failed += all_runs(client, filter_string=f"attributes.status = '{status}'")
        failed += gone
    return Cleaning(gone, failed)


def clean(client: MlflowClient, cleaning: Cleaning) -> None:
    """Do what was planned. A deleted run can be restored in the UI until `mlflow gc`."""
    for run in cleaning.close:
        client.set_terminated(run.info.run_id, status="KILLED")
    for run in cleaning.delete:
        client.delete_run(run.info.run_id)


def _is_gone(run: Run, running: Sequence[Run]) -> bool:
    """Whether a run's process (for a nested run, its parent's) was here and is no more."""
    parent = run.data.tags.get("mlflow.parentRunId")
    if parent is not None:
        by_id = {other.info.run_id: other for other in running}
        return parent not in by_id or _is_gone(by_id[parent], running)
    host, _, number = run.data.tags.get(PROCESS, "").rpartition(":")
    if host != socket.gethostname() or not number.isdigit():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
