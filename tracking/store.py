"""Where runs are kept: the MLflow store of this project, and a client for it.

`MLFLOW_TRACKING_URI` names any MLflow store or server. Without it, runs go to `mlruns/` in the working
directory: `mlflow.db` (SQLite) and `artifacts/` beside it.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reno_dspy.base.errors import InputError, JobError
from tracking.local_store import create, database_of, follow

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

_URI = "MLFLOW_TRACKING_URI"
FOLDER = "mlruns"
PREFIX = "reno/"

# The UI's views for runs and metrics, not those for chat agents.
_TRAINING_VIEW = {"mlflow.experimentKind": "custom_model_development"}

# How long a server may take for one answer; less for the first one, which shows whether the server is up.
_TIMEOUT = "MLFLOW_HTTP_REQUEST_TIMEOUT"
_FIRST_SECONDS = 8
# A dead server must cost a job seconds, not MLflow's default of several minutes.
_DEFAULTS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    _TIMEOUT: "20",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "GIT_PYTHON_REFRESH": "quiet",
}


def store_uri() -> str:
    """The URI of the store: MLFLOW_TRACKING_URI, else SQLite in `mlruns/` of the working directory."""
    return os.environ.get(_URI) or f"sqlite:///{Path.cwd() / FOLDER / 'mlflow.db'}"


def public_uri(uri: str) -> str:
    """`uri` without user name and password, fit to be printed and kept."""
    return re.sub(r"(?<=://)[^/@]*@", "", uri)


def is_remote(uri: str) -> bool:
    """Whether a server keeps the runs (it then decides where artifacts lie)."""
    return uri.startswith(("http://", "https://", "databricks"))


def artifact_root(uri: str) -> Path | None:
    """The folder for the artifacts of a local SQLite store, beside its database; None elsewhere."""
    database = database_of(uri)
    return database.parent / "artifacts" if database else None


def open_client(uri: str | None = None) -> MlflowClient:
    """A client of the store at `uri` (default: `store_uri()`); a new local store is created.

    In a local store whose folder was moved, paths are corrected. Raises JobError, in one sentence,
    when a local store can be neither created nor opened, or a server does not answer.
    """
    prepare_environment()
    from mlflow.tracking import MlflowClient

    uri = uri or store_uri()
    database = database_of(uri)
    try:
        if database:
            create(database, database.parent / "artifacts")
        client = MlflowClient(tracking_uri=uri, registry_uri=uri)
        with _impatient():
            client.search_experiments(max_results=1)
        if database:
            follow(database, database.parent / "artifacts")
    except Exception as error:  # MLflow has one exception for all, and lets others through
        raise JobError(f"{cannot_reach(uri, error)} {_advice(uri, str(error))}") from error
    return client


@contextmanager
def _impatient() -> Iterator[None]:
    """Let MLflow's next request wait less for its answer."""
    usual = os.environ[_TIMEOUT]
    os.environ[_TIMEOUT] = str(min(_FIRST_SECONDS, int(usual)))
    try:
        yield
    finally:
        os.environ[_TIMEOUT] = usual


def _advice(uri: str, error: str) -> str:
    if "mlflow db upgrade" in error:
        return (
            f"It is of an earlier MLflow: copy it, then run `mlflow db upgrade {public_uri(uri)}`."
        )
    if is_remote(uri):
        return "Check that the server is up."
    if not database_of(uri):
        return "Check that the database is up."
    return (
        "If its disk is not full and it is not in use, move the file away: `reno runs log DIR` writes the "
        "run directories that you have into a new store."
    )


def open_existing() -> MlflowClient:
    """A client of the store, to read.

    Raises InputError where a local one does not exist yet, JobError where it cannot be opened.
    """
    database = database_of(store_uri())
    if database and not database.is_file():
        raise InputError(
            f"There are no runs yet: {database} does not exist. Run a job here first, change to the "
            "directory where one ran, or set MLFLOW_TRACKING_URI."
        )
    return open_client()


def cannot_reach(uri: str, error: Exception) -> str:
    """A store's failure in one sentence, without user name and password."""
    text = str(error).strip() or type(error).__name__
    found = re.search(r"\[Errno -?\d+\] [\w ]+", text)
    reason = found.group() if found else text.splitlines()[0][:300]
    return f"Tracking: the MLflow store {public_uri(uri)} cannot be used ({public_uri(reason)})."


def prepare_environment() -> None:
    """Set what MLflow reads when it is imported: no telemetry, short retries, no chatter."""
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    for name in ("alembic", "mlflow.store.db.utils", "mlflow.tracking.fluent"):
        logging.getLogger(name).setLevel(logging.ERROR)


@contextmanager
def as_mlflows_own() -> Iterator[None]:
    """Let MLflow's own functions use our store inside: some have no client, and read a global setting.

    Setting that also sets the environment, which is put back.
    """
    import mlflow

    chosen, setting = os.environ.get(_URI), mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(store_uri())
    try:
        yield
    finally:
        mlflow.set_tracking_uri(setting)
        os.environ.pop(_URI, None)
        if chosen is not None:
            os.environ[_URI] = chosen


def experiment_id(client: MlflowClient, job: str) -> str:
    """The id of the experiment of a job kind (`reno/evaluate`, ...), created when missing."""
    from mlflow.exceptions import MlflowException

    name = PREFIX + job
    found = client.get_experiment_by_name(name)
    if found is not None:
        return str(found.experiment_id)
    root = artifact_root(client.tracking_uri)
    location = (root / job).as_uri() if root is not None else None
    try:
        return str(client.create_experiment(name, artifact_location=location, tags=_TRAINING_VIEW))
    except MlflowException:
        # Another job of the same kind has just created it.
        found = client.get_experiment_by_name(name)
        if found is None:
            raise
        return str(found.experiment_id)


def experiment_ids(client: MlflowClient, jobs: tuple[str, ...] = ()) -> list[str]:
    """The ids of this project's experiments: those of `jobs`, or all."""
    wanted = {PREFIX + job for job in jobs}
    return [
        str(experiment.experiment_id)
        for experiment in client.search_experiments(filter_string=f"name LIKE '{PREFIX}%'")
        if not wanted or experiment.name in wanted
    ]
