"""The MLflow server of this project's store, on loopback: what `reno ui` runs.

MLflow's job runners stay off: they take 8 more processes and 3.4 GB, and nothing here uses them.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from reno_dspy.base.errors import JobError
from tracking.store import artifact_root, open_client, prepare_environment, public_uri

HOST = "127.0.0.1"
_START_SECONDS = 120
_STOP_SECONDS = 5


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
    open_client(uri).search_experiments(max_results=1)  # creates the tables, or fails plainly
    port = port or _free_port()
    address = f"http://{HOST}:{port}"
    with tempfile.TemporaryFile() as said:
        process = _start(uri, port, artifacts or artifact_root(uri), said)
        try:
            _wait_until_up(process, address, uri, said)
            yield address
        finally:
            _stop(process)


def _start(uri: str, port: int, artifacts: Path | None, said: IO[bytes]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", uri]
    command += ["--host", HOST, "--port", str(port), "--workers", "1"]
    if artifacts is not None:
        command += ["--artifacts-destination", artifacts.resolve().as_uri()]
    prepare_environment()
    environment = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    environment.pop("MLFLOW_TRACKING_URI", None)
    # A session of its own, so that its worker processes can be ended together with it.
    return subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=said,
        stderr=said,
        start_new_session=True,
    )


def _wait_until_up(
    process: subprocess.Popen[bytes], address: str, uri: str, said: IO[bytes]
) -> None:
    for _ in range(_START_SECONDS * 10):
        if process.poll() is not None:
            said.seek(0)
            tail = "\n".join(said.read().decode(errors="replace").strip().splitlines()[-5:])
            raise JobError(f"The MLflow server for {public_uri(uri)} ended at once:\n{tail}")
        with suppress(OSError), urllib.request.urlopen(f"{address}/health", timeout=1):
            return
        time.sleep(0.1)
    raise JobError(f"The MLflow server did not answer on {address} in {_START_SECONDS} s.")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the server and its workers: politely, then firmly."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
