"""Ask many things of something slow: in batches, several at once, until a job should stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice
from typing import TypeVar

from reno_dspy.base.failures import FailureBudget

Item = TypeVar("Item")
Answer = TypeVar("Answer")

# Seconds without an answer after which a job says so; then at twice that time, and so on.
PATIENCE_S = 60.0


async def ask_all(
    items: Iterable[Item],
    ask: Callable[[list[Item]], Awaitable[Sequence[Answer]]],
    keep: Callable[[Item, Answer], None],
    budget: FailureBudget,
    *,
    batch_size: int = 1,
    concurrency: int,
    on_silence: Callable[[float], None],
) -> None:
    """`ask` about all `items`, in batches of `batch_size`, `concurrency` calls at once.

    `keep` gets every answer as it comes and counts it in `budget`. Items are taken in their order, and
    only as fast as they are asked about. Once the budget has a verdict nothing more is asked; what is
    under way is waited for and kept, then the verdict is raised. An exception of `ask` or `keep`, and
    Ctrl-C, end all calls before they propagate. `on_silence` is called with the seconds since the last
    answer when they become many: without it, a server that limits the rate looks like a job that hangs.
    """
    source = iter(items)
    silence = _Silence(on_silence)

    async def work() -> None:
        while budget.verdict is None and (batch := list(islice(source, batch_size))):
            answers = await ask(batch)
            silence.end()
            for item, answer in zip(batch, answers, strict=True):
                keep(item, answer)

    workers = [asyncio.create_task(work()) for _ in range(concurrency)]
    watch = asyncio.create_task(silence.watch())
    try:
        await asyncio.gather(*workers)
    finally:
        for task in (*workers, watch):
            task.cancel()
        await asyncio.gather(*workers, watch, return_exceptions=True)
    budget.check()


class _Silence:
    """The time since the last answer; `report` is called with it each time it has doubled."""

    def __init__(self, report: Callable[[float], None]) -> None:
        self._report = report
        self.end()

    def end(self) -> None:
        """An answer came."""
        self._since, self._limit = time.monotonic(), PATIENCE_S

    async def watch(self) -> None:
        """Report silence until cancelled."""
        while True:
            await asyncio.sleep(PATIENCE_S / 30)
            silent = time.monotonic() - self._since
            if silent >= self._limit:
                self._report(silent)
                self._limit = 2 * silent
