"""The MLflow server of this project's store, on loopback: what `reno ui` runs.

MLflow's job runners stay off: they take 8 more processes and 3.4 GB, and nothing here uses them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reno_dspy.base.child_server import (
    answers,
    child_environment,
    child_server,
    free_port,
    python_module,
    url_of,
)
from tracking.store import artifact_root, open_client, prepare_environment, public_uri

HOST = "127.0.0.1"
_START_SECONDS = 120


@contextmanager
def serving(uri: str, port: int = 0, artifacts: Path | None = None) -> Iterator[str]:
    """Serve the local store at `uri` while the body runs; yields the address.

    Args:
        uri: a database URI (`sqlite:///...`).
        port: 0 takes a free one.
        artifacts: where runs logged over HTTP keep their artifacts; default beside the database.
    Raises:
        JobError: the server does not come up (its last lines are in the message).
    """
    # Creates the tables, or fails plainly.
    open_client(uri)
    port = port or free_port(HOST)
    address = url_of(HOST, port)
    command = _command(uri, port, artifacts or artifact_root(uri))
    name = f"The MLflow server for {public_uri(uri)}"
    with tempfile.TemporaryDirectory(prefix="reno-mlflow-") as folder:
        log = Path(folder) / "server.log"
        with child_server(name, command, log=log, environment=_environment()) as server:
            server.wait_until(lambda: answers(f"{address}/health"), _START_SECONDS)
            yield address


def _command(uri: str, port: int, artifacts: Path | None) -> list[str]:
    command = python_module("mlflow", "server", "--backend-store-uri", uri)
    command += ["--host", HOST, "--port", str(port), "--workers", "1"]
    if artifacts is not None:
        command += ["--artifacts-destination", artifacts.resolve().as_uri()]
    return command


def _environment() -> dict[str, str]:
    prepare_environment()
    environment = child_environment({"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"})
    environment.pop("MLFLOW_TRACKING_URI", None)
    return environment
