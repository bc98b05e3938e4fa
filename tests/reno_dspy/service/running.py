"""The service as people start it: `reno serve` in a process of its own, on a free port."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[3]
# Seconds for what takes a moment on an idle machine.
PATIENCE = 120


@dataclass
class Service:
    """A running service: its address, what it printed (a file), and a client for it."""

    url: str
    log: Path
    client: httpx.Client
    pid: int

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def memory(self) -> int:
        """Resident memory in MB."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        return int(status.partition("VmRSS:")[2].split()[0]) // 1024

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")


@contextmanager
def serving(folder: Path, *arguments: str, **variables: str) -> Iterator[Service]:
    """`reno serve ARGUMENTS` while the block runs."""
    command = [sys.executable, "-m", "reno_dspy.cli", "serve", *arguments, "--port", "0"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"} | variables
    log = folder / "service.log"
    with open(log, "wb") as errors:
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
        )
    with process:
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            assert "Serving" in first, log.read_text(encoding="utf-8")
            url = first.split()[-1]
            with httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False) as client:
                yield Service(url, log, client, process.pid)
        finally:
            process.terminate()
