"""Reading back the files that a run left in the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient


def fetch(client: MlflowClient, run: Run, names: set[str], folder: Path) -> set[str]:
    """Copy those of a run's files that the store has into `folder`; returns their names."""
    from mlflow.exceptions import MlflowException

    try:
        there = names & {item.path for item in client.list_artifacts(run.info.run_id)}
        for name in there:
            client.download_artifacts(run.info.run_id, name, str(folder))
    except (MlflowException, OSError):
        return set()
    return there
