"""The same file from one process and from several, whoever is killed on the way."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from reno_dspy.annotate.job import AnnotateConfig, annotate
from reno_dspy.base.child_server import child_environment, python_module
from reno_dspy.systems.crf.model import Crf

# Enough to be killed among, some too long and some with labels.
REFERENCES = [
    "x" * 6_000
    if n % 400 == 3
    else f"{'' if n % 3 else f'[{n}] '}Ito {'KLM'[n % 3]}. Foxes of the {n % 89}th hill. J Fict Zool. "
    f"{1950 + n % 70};{n % 40}({n % 9}):{n}-{n + 9}."
    for n in range(1_000)
]
ENGINES = [
    "local",
    pytest.param(
        "ray",
        marks=pytest.mark.skipif(
            importlib.util.find_spec("ray") is None, reason="needs the extra [ray]"
        ),
    ),
]
# What the command line of a worker has.
WORKERS = {"local": "reno_dspy.base.local_engine", "ray": "ray::_Actor"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `refs.txt`, and `whole.jsonl`: what one process makes of it."""
    folder = tmp_path_factory.mktemp("workers")
    (folder / "refs.txt").write_text("".join(f"{line}\n" for line in REFERENCES))
    config = AnnotateConfig(input="-", out=folder / "whole.jsonl", system="crf", format="jsonl")
    written = annotate(config, Crf(), REFERENCES)
    assert (written.total, written.failed) == (len(REFERENCES), 3)
    return folder


def start(folder: Path, engine: str) -> subprocess.Popen[str]:
    """`reno annotate` with two workers, on `refs.txt` into `ENGINE.jsonl`."""
    options = f"--system crf --format jsonl --out {engine}.jsonl --workers 2 --engine {engine}"
    return subprocess.Popen(
        python_module("reno_dspy.cli", "annotate", "refs.txt", *options.split()),
        cwd=folder,
        env=child_environment(),
        stderr=subprocess.PIPE,
        text=True,
    )


def answered(folder: Path, engine: str) -> int:
    """How many lines the log of a job has."""
    log = folder / f"{engine}.jsonl.partial"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def workers_midway(folder: Path, engine: str, process: subprocess.Popen[str]) -> list[int]:
    """The processes of a job's workers, as soon as they have answered a batch."""
    while answered(folder, engine) < 64:
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.01)
    children = psutil.Process(process.pid).children(recursive=True)
    return [one.pid for one in children if WORKERS[engine] in " ".join(one.cmdline())]


def runs(pid: int) -> bool:
    """Whether a process is there, and not only its entry that nobody has read yet."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_killed_worker_costs_nothing(folder: Path, engine: str) -> None:
    process = start(folder, engine)
    workers = workers_midway(folder, engine, process)
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    shown = process.communicate()[1]
    assert process.returncode == 0, shown
    assert ("A worker died of SIGKILL" in shown) == (engine == "local")
    made = folder / f"{engine}.jsonl"
    assert made.read_bytes() == (folder / "whole.jsonl").read_bytes()
    made.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_killed_driver_takes_its_workers_along_and_resumes(folder: Path, engine: str) -> None:
    process = start(folder, engine)
    workers = workers_midway(folder, engine, process)
    process.kill()
    process.communicate()
    assert answered(folder, engine) < len(REFERENCES)
    while any(map(runs, workers)):
        time.sleep(0.05)
    again = start(folder, engine)
    shown = again.communicate()[1]
    assert again.returncode == 0, shown
    made = folder / f"{engine}.jsonl"
    assert made.read_bytes() == (folder / "whole.jsonl").read_bytes()
    made.unlink()
