"""Requests that come at the same time share the system's batches."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from reno_dspy.service.metrics import Metrics
from reno_dspy.systems import Completion, System


class Busy(Exception):
    """Too many references wait already."""


Waiting = deque[tuple[str, "asyncio.Future[Completion]"]]


class Batcher:
    """Gives the references that wait to a system, as many at once as it takes.

    A batch is filled with one reference of each request in turn, so that a short request need not wait
    for the end of a long one. `longest` is how many references may wait. Used in one event loop.
    """

    def __init__(self, system: System, longest: int, metrics: Metrics) -> None:
        self._system, self._longest, self._metrics = system, longest, metrics
        self._requests: deque[Waiting] = deque()
        self._length = 0
        self._arrived = asyncio.Event()
        self._workers: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start the system. Raises InputError or JobError when it does not."""
        await self._system.start()
        self._workers = [asyncio.create_task(self._work()) for _ in range(self._system.concurrency)]

    async def stop(self) -> None:
        """Ask the system nothing more."""
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)

    @property
    def alive(self) -> bool:
        """Whether references are answered."""
        return bool(self._workers) and not any(worker.done() for worker in self._workers)

    @contextmanager
    def asking(
        self, references: Sequence[str], *, admitted: bool = False
    ) -> Iterator[list[asyncio.Future[Completion]]]:
        """The answers to `references` as futures; what still waits when the block ends is not asked.

        Raises Busy when too many wait, unless the request was `admitted` before.
        """
        if not admitted and self._length + len(references) > self._longest:
            raise Busy
        loop = asyncio.get_running_loop()
        waiting: Waiting = deque((text, loop.create_future()) for text in references)
        futures = [future for _, future in waiting]
        self._requests.append(waiting)
        self._count(len(waiting))
        self._arrived.set()
        try:
            yield futures
        finally:
            self._count(-len(waiting))
            waiting.clear()
            for future in futures:
                future.cancel()

    def _count(self, more: int) -> None:
        self._length += more
        self._metrics.waiting.set(self._length)

    async def _work(self) -> None:
        while True:
            if batch := self._next_batch():
                await self._answer(batch)
            else:
                self._arrived.clear()
                await self._arrived.wait()

    def _next_batch(self) -> list[tuple[str, asyncio.Future[Completion]]]:
        batch: list[tuple[str, asyncio.Future[Completion]]] = []
        while self._requests and len(batch) < self._system.batch_size:
            waiting = self._requests.popleft()
            if waiting:
                batch.append(waiting.popleft())
            if waiting:
                self._requests.append(waiting)
        self._count(-len(batch))
        return batch

    async def _answer(self, batch: Sequence[tuple[str, asyncio.Future[Completion]]]) -> None:
        self._metrics.batches.observe(len(batch))
        try:
            completions = await self._system.annotate([text for text, _ in batch])
        except Exception as error:
            # A system should never raise; if one does, its message may hold what somebody typed.
            failed = Completion("", error=f"the system failed ({type(error).__name__})")
            completions = [failed] * len(batch)
        for (_, future), completion in zip(batch, completions, strict=True):
            self._metrics.references.labels("failed" if completion.error else "annotated").inc()
            if not future.done():
                future.set_result(completion)
