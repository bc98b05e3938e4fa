"""Servers that this program starts for itself, and that never outlive it.

A child server is started through a supervisor, this module run as a program. The supervisor holds the
reading end of a pipe whose writing end only the parent has. When the parent closes it, or dies in
whatever way (`kill -9` included), the supervisor reads the pipe's end and stops the server with all
its workers. This needs nothing of the server itself, which may be another program in another Python.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from typing import IO

from reno_dspy.base.errors import JobError

# How long a server may take to stop by itself before it is killed.
STOP_SECONDS = 10.0
# A server that is busy starting may accept a connection and answer late.
_ASK_SECONDS = 5.0
_ROOT = Path(__file__).resolve().parents[2]
_TAIL = 8


def python_module(module: str, *arguments: str) -> list[str]:
    """The command that runs a module with this Python.

    `-P` keeps the working directory off the module path, where a user's file may have our module's name.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def child_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment, in which a child finds this checkout's packages from any folder."""
    path = os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        "PYTHONPATH": f"{_ROOT}{os.pathsep}{path}" if path else str(_ROOT),
        **(extra or {}),
    }


def url_of(host: str, port: int) -> str:
    """The address by which this machine reaches a server, without a path.

    IPv6 hosts stand in brackets (RFC 3986, 3.2.2). A server that listens on every interface is reached by
    loopback.
    """
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def free_port(host: str) -> int:
    """A port that was free on `host` a moment ago."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def answers(url: str) -> bool:
    """Whether a server answers at `url`, asked directly: no proxy knows the servers of this machine."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with suppress(OSError, HTTPException), direct.open(url, timeout=_ASK_SECONDS):
        return True
    return False


class ChildServer:
    """A running child server; `name` is what messages call it."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path | None) -> None:
        self._name, self._process, self._log = name, process, log

    def wait_until(self, ready: Callable[[], bool], seconds: float = float("inf")) -> None:
        """Wait until `ready()` holds.

        Raises JobError when the server ends before, with the last lines of its log, or when it takes
        more than `seconds`.
        """
        limit = time.monotonic() + seconds
        while not ready():
            if self._process.poll() is not None:
                raise JobError(f"{self._name} ended before it was ready{self._last_words()}")
            if time.monotonic() > limit:
                raise JobError(f"{self._name} did not answer in {seconds:g} s{self._last_words()}")
            time.sleep(0.1)

    def wait(self) -> int:
        """Wait until the server ends by itself; its exit code."""
        return self._process.wait()

    def _last_words(self) -> str:
        if self._log is None:
            return "; its output above says why."
        lines = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return f" ({self._log}):\n" + "\n".join(lines[-_TAIL:])


@contextmanager
def child_server(
    name: str,
    command: Sequence[str],
    *,
    log: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[ChildServer]:
    """Run `command` as a child server while the body runs; it ends with the body or with this process.

    Its output goes to `log`, or to this process's own output. `environment` is the whole environment of
    the child (default: `child_environment()`).
    """
    supervised = [*python_module(__name__), *command]
    with _output(log) as output:
        process = subprocess.Popen(
            supervised,
            env=dict(environment) if environment is not None else child_environment(),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            # Ctrl-C in a terminal reaches this process alone, which then closes the pipe.
            start_new_session=True,
        )
        try:
            yield ChildServer(name, process, log)
        finally:
            assert process.stdin is not None
            with suppress(BrokenPipeError):
                process.stdin.close()
            process.wait()


@contextmanager
def _output(log: Path | None) -> Iterator[IO[bytes] | None]:
    if log is None:
        yield None
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "wb") as file:
        yield file


def _supervise(command: Sequence[str]) -> int:
    """Run `command` until it ends or standard input does; its exit code."""
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)

    def stop_with_parent() -> None:
        # Not through sys.stdin, whose lock would be held when this program ends first.
        while os.read(0, 1):
            pass
        _stop(server)

    threading.Thread(target=stop_with_parent, daemon=True).start()
    code = server.wait()
    # Workers may be left when the server itself has ended.
    _signal(server, signal.SIGKILL)
    return code


def _stop(server: subprocess.Popen[bytes]) -> None:
    """End the server and the workers of its session: politely, then firmly."""
    _signal(server, signal.SIGTERM)
    time.sleep(STOP_SECONDS)
    _signal(server, signal.SIGKILL)


def _signal(server: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(server.pid, number)


if __name__ == "__main__":
    sys.exit(_supervise(sys.argv[1:]))
