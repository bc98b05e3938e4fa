"""Ordered maps over many items: in this process, or in several."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import TypeVar

In = TypeVar("In")
Out = TypeVar("Out")
# Items handed out ahead of the one that is waited for, per worker: bounds memory.
_AHEAD = 8


def in_processes(
    function: Callable[[In], Out], items: Iterable[In], workers: int
) -> Iterator[Out]:
    """`function` of each item, in order, in `workers` processes (in this one if that is 1)."""
    if workers == 1:
        yield from map(function, items)
        return
    # spawn, since a progress bar's thread runs here, and forking with threads may lock up.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        yield from _ordered(pool, function, items, workers)


def in_threads(function: Callable[[In], Out], items: Iterable[In], workers: int) -> Iterator[Out]:
    """`function` of each item, in order, in `workers` threads: for functions that wait (an LM)."""
    with ThreadPoolExecutor(workers) as pool:
        yield from _ordered(pool, function, items, workers)


def _ordered(
    pool: Executor, function: Callable[[In], Out], items: Iterable[In], workers: int
) -> Iterator[Out]:
    pending: deque[Future[Out]] = deque()
    try:
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) >= workers * _AHEAD:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()
