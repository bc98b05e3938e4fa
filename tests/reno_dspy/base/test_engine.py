"""Engines: real processes, and real actors where Ray is installed."""

from __future__ import annotations

import importlib.util
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reno_dspy.base import extras
from reno_dspy.base.config import read_yaml
from reno_dspy.base.engine import Engine, cores, open_engine
from reno_dspy.base.errors import InputError, JobError
from reno_dspy.base.local_engine import LocalEngine

NEEDS_RAY = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="needs the extra [ray]"
)


@pytest.fixture(scope="module", params=["local", pytest.param("ray", marks=NEEDS_RAY)])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with open_engine(request.param, 2) as opened:
        yield opened


def test_a_map_keeps_the_order(engine: Engine) -> None:
    assert list(engine.map(math.factorial, range(60))) == [math.factorial(n) for n in range(60)]


def test_items_are_taken_only_as_fast_as_they_are_worked_on(engine: Engine) -> None:
    taken: list[int] = []
    results = engine.map(abs, (taken.append(n) or n for n in range(1_000)))  # type: ignore[func-returns-value]
    assert next(results) == 0
    assert len(taken) < 100


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
