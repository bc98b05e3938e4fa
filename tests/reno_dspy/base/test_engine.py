"""Engines: real processes, and real actors where Ray is installed."""

from __future__ import annotations

import importlib.util
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reno_dspy.base import extras
from reno_dspy.base.child_server import child_environment
from reno_dspy.base.config import read_yaml
from reno_dspy.base.engine import Engine, cores, open_engine
from reno_dspy.base.errors import InputError, JobError
from reno_dspy.base.local_engine import LocalEngine

# Ray's own processes and threads stay out of this one.
ON_RAY = """
import math
from pathlib import Path
from reno_dspy.base.child_server import child_environment
from reno_dspy.base.config import read_yaml
from reno_dspy.base.engine import open_engine
with open_engine("ray", 2) as engine:
    print(list(engine.map(math.factorial, range(60))) == list(map(math.factorial, range(60))))
    for function, item in ((read_yaml, Path("nowhere.yaml")), (int, "four")):
        print(repr(engine.submit(function, item).exception())[:60])
"""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with LocalEngine(2) as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra [ray]")
def test_on_ray_it_is_the_same() -> None:
    command = [sys.executable, "-c", ON_RAY]
    done = subprocess.run(
        command, env=child_environment(), capture_output=True, text=True, check=False
    )
    whole, ours, other = done.stdout.splitlines() or [done.stderr, "", ""]
    assert whole == "True", done.stderr
    assert ours.startswith("InputError('Cannot read nowhere.yaml")
    assert other.startswith("RuntimeError('in a worker:")


def test_a_map_keeps_the_order(engine: Engine) -> None:
    assert list(engine.map(math.factorial, range(60))) == [math.factorial(n) for n in range(60)]


def test_items_are_taken_only_as_fast_as_they_are_worked_on(engine: Engine) -> None:
    numbers = iter(range(1_000))
    assert next(engine.map(abs, numbers)) == 0
    assert next(numbers) < 100


def test_our_errors_come_as_they_are_and_others_with_their_traceback(engine: Engine) -> None:
    with pytest.raises(InputError, match="Cannot read"):
        engine.submit(read_yaml, Path("nowhere.yaml")).result()
    with pytest.raises(RuntimeError, match="invalid literal for int"):
        engine.submit(int, "four").result()
    assert engine.submit(int, "4").result() == 4


def test_workers_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert cores() == 7
    with LocalEngine(3) as engine:
        assert engine.submit(os.getenv, "OMP_NUM_THREADS").result() == "2"


def test_a_worker_that_dies_is_replaced_once(capfd: pytest.CaptureFixture[str]) -> None:
    with LocalEngine(2) as engine:
        with pytest.raises(JobError, match=r"ended \(exit code 3\), and so did the one that took"):
            engine.submit(os._exit, 3).result()
        assert engine.submit(abs, -1).result() == 1
    assert "A worker ended (exit code 3). A new one does its work again." in capfd.readouterr().err


def test_closing_ends_calls_that_run() -> None:
    engine = LocalEngine(2)
    running = engine.submit(time.sleep, 600)
    waiting = [engine.submit(time.sleep, 600) for _ in range(3)]
    while not running.running():
        time.sleep(0.01)
    engine.close()
    with pytest.raises(JobError):
        running.result()
    assert all(one.done() for one in waiting)


def test_of_a_map_with_one_worker_this_process_is_the_worker() -> None:
    with LocalEngine(1) as engine:
        assert list(engine.map(lambda n: (os.getpid(), n), [3, 4])) == [
            (os.getpid(), 3), (os.getpid(), 4),
        ]  # fmt: skip


def test_without_ray_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    with open_engine("ray", 1) as engine, pytest.raises(InputError, match=r"reno-dspy\[ray\]"):
        engine.submit(abs, 1)
