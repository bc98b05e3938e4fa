"""Engines: the same function of many items, on several workers at once.

A worker is a process of this machine (`local_engine`) or an actor on a Ray cluster (`ray_engine`). It does
one call at a time. Functions and items must pickle. What a function wants to keep from one call to the
next, such as a model, it keeps in a cache of its module (`functools.lru_cache`).
"""

from __future__ import annotations

import os
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeVar

from reno_dspy.base.errors import RenoError

In = TypeVar("In")
Out = TypeVar("Out")
EngineName = Literal["local", "ray"]
# Items handed out ahead of the one that is waited for, per worker: bounds memory.
_AHEAD = 8


class Outcome(NamedTuple):
    """What a call gave, or the error that it raised."""

    result: Any = None
    error: Exception | None = None


class Worker(Protocol):
    """One process, here or elsewhere."""

    def call(self, function: Callable[[In], Out], item: In) -> Outcome:
        """`function` of `item`. Raises JobError when the worker dies of it, even when it tries again."""
        ...

    def close(self) -> None:
        """End the worker, whatever it is doing; a call that waits for it fails."""
        ...


class Engine(ABC):
    """`count` workers that start with the first item and live as long as the context.

    Each worker has a thread here, which gives it the next item.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._threads: ThreadPoolExecutor | None = None
        self._workers: Sequence[Worker] = ()
        self._idle: SimpleQueue[Worker] = SimpleQueue()

    @abstractmethod
    def _start(self) -> Sequence[Worker]:
        """Make the workers. Raises InputError or JobError when that cannot be."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers at once; what they have not finished is lost."""
        for worker in self._workers:
            worker.close()
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
        self._threads, self._workers = None, ()

    def submit(self, function: Callable[[In], Out], item: In) -> Future[Out]:
        """`function` of `item`, as soon as a worker is free.

        The future raises what `function` raised, if that is one of our errors, else RuntimeError with its
        traceback; JobError when the worker died.
        """
        if self._threads is None:
            self._workers, self._idle = self._start(), SimpleQueue()
            for worker in self._workers:
                self._idle.put(worker)
            self._threads = ThreadPoolExecutor(self.count, "engine")
        return self._threads.submit(self._call, function, item)

    def map(self, function: Callable[[In], Out], items: Iterable[In]) -> Iterator[Out]:
        """`function` of each item, in order; items are taken only as fast as they are worked on."""
        pending: deque[Future[Out]] = deque()
        try:
            for item in items:
                pending.append(self.submit(function, item))
                if len(pending) >= self.count * _AHEAD:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()

    def _call(self, function: Callable[[In], Out], item: In) -> Out:
        worker = self._idle.get()
        try:
            outcome = worker.call(function, item)
        finally:
            self._idle.put(worker)
        if outcome.error is not None:
            raise outcome.error
        result: Out = outcome.result
        return result


def outcome(function: Callable[[In], Out], item: In) -> Outcome:
    """Call `function` in a worker; the traceback stands for errors that are not ours and may not pickle."""
    try:
        return Outcome(function(item))
    except RenoError as error:
        return Outcome(error=error)
    except Exception:
        return Outcome(error=RuntimeError(f"in a worker:\n{traceback.format_exc()}"))


def open_engine(name: EngineName, count: int) -> Engine:
    """The engine of that name, with `count` workers."""
    # Ray takes seconds to import; and neither is needed by a job that is done already.
    if name == "ray":
        from reno_dspy.base.ray_engine import RayEngine

        return RayEngine(count)
    from reno_dspy.base.local_engine import LocalEngine

    return LocalEngine(count)


def cores() -> int:
    """The cores that this process should use: `OMP_NUM_THREADS` if set, else all that it may run on."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isdecimal() and int(wanted):
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
