"""Reading back the files that a run left in the store."""

from __future__ import annotations

import shutil
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from tracking.store import artifact_root

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient


def fetch(client: MlflowClient, run: Run, names: set[str], folder: Path) -> set[str]:
    """Copy those of a run's files that the store has into `folder`; returns their names."""
    from mlflow.exceptions import MlflowException

    moved = _moved(client, run)
    if moved is not None:
        return {name for name in names if _copied(moved / name, folder / name)}
    try:
        there = names & {item.path for item in client.list_artifacts(run.info.run_id)}
        for name in there:
            client.download_artifacts(run.info.run_id, name, str(folder))
    except (MlflowException, OSError):
        return set()
    return there


def _moved(client: MlflowClient, run: Run) -> Path | None:
    """Where a run's files lie if the project's folder was moved; None where they are in their place.

    MLflow keeps absolute addresses, so that all those in a local store point to the old folder. The
    files are still beside the database: JOB/RUN/artifacts.
    """
    root = artifact_root(client.tracking_uri)
    path = unquote(urlparse(run.info.artifact_uri).path)
    if root is None or Path(path).exists():
        return None
    found = root.joinpath(*PurePosixPath(path).parts[-3:])
    return found if found.is_dir() else None


def _copied(source: Path, target: Path) -> bool:
    if not source.is_file():
        return False
    shutil.copyfile(source, target)
    return True
