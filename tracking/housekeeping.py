"""Runs that nobody ends: found, closed, and put away."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reno_dspy.base.errors import InputError
from tracking.environment import PROCESS
from tracking.runs import all_runs

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient


@dataclass(frozen=True)
class Cleaning:
    """What there is to clean.

    `close` are runs to end as KILLED, `delete` runs to move to MLflow's trash, and `left` the RUNNING
    runs that stay as they are, each with the reason.
    """

    close: Sequence[Run]
    delete: Sequence[Run]
    left: Sequence[tuple[Run, str]]


def plan_cleaning(
    client: MlflowClient, *, delete_failed: bool = False, named: Sequence[str] = ()
) -> Cleaning:
    """Find RUNNING runs whose process on this machine is gone and, on request, the unfinished ones.

    `named` are ids of runs, or their beginnings, to close whatever became of their process: nobody can
    look for the process of another host. Raises InputError for one that no RUNNING run has.
    """
    running = all_runs(client, filter_string="attributes.status = 'RUNNING'")
    chosen = {run.info.run_id for name in named for run in _with_id(running, name)}
    close, left = [], []
    for run in running:
        reason = None if run.info.run_id in chosen else _why_left(run, running, chosen)
        if reason is None:
            close.append(run)
        else:
            left.append((run, reason))
    failed: list[Run] = []
    if delete_failed:
        for status in ("FAILED", "KILLED"):
            failed += all_runs(client, filter_string=f"attributes.status = '{status}'")
        failed += close
    return Cleaning(close, failed, left)


def _with_id(running: Sequence[Run], beginning: str) -> list[Run]:
    found = [run for run in running if run.info.run_id.startswith(beginning)]
    if not beginning or not found:
        raise InputError(f"No RUNNING run has the id {beginning!r}; `reno runs list` shows them.")
    return found


def clean(client: MlflowClient, cleaning: Cleaning) -> None:
    """Do what was planned. A deleted run can be restored in the UI until `mlflow gc`."""
    for run in cleaning.close:
        client.set_terminated(run.info.run_id, status="KILLED")
    for run in cleaning.delete:
        client.delete_run(run.info.run_id)


def _why_left(run: Run, running: Sequence[Run], chosen: Collection[str]) -> str | None:
    """Why a run may still be going on; None when its process (or its parent's) is gone."""
    parent = run.data.tags.get("mlflow.parentRunId")
    if parent is not None:
        by_id = {other.info.run_id: other for other in running}
        is_closed = parent in chosen or parent not in by_id
        return None if is_closed else _why_left(by_id[parent], running, chosen)
    host, _, number = run.data.tags.get(PROCESS, "").rpartition(":")
    if not number.isdigit():
        return "its process is not known"
    if host != socket.gethostname():
        return f"its process {number} ran on {host}, which cannot be asked from here"
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return f"its process {number} is alive"
