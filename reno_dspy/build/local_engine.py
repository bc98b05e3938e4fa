"""Ordered maps over many items, in this process or in several.

`LocalEngine` is one of two engines of a build; the other is `ray_engine.RayEngine`.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from typing import TypeVar

In = TypeVar("In")
Out = TypeVar("Out")
# Items handed out ahead of the one that is waited for, per worker: bounds memory.
_AHEAD = 8


class LocalEngine:
    """Processes that live as long as the context; one worker is the process itself."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def map(self, function: Callable[[In], Out], items: Iterable[In]) -> Iterator[Out]:
        """`function` (which must pickle) of each item, in order."""
        if self._count == 1:
            return map(function, items)
        if self._pool is None:
            # spawn, since a progress bar's thread runs here and forking with threads may lock up.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._count, mp_context=context)
        return _ordered(self._pool, function, items, self._count)


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
