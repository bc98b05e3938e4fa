"""Ask a system about many references, in the batches and with as many calls at once as it takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from reno_dspy.base.asking import ask_all
from reno_dspy.base.failures import FailureBudget
from reno_dspy.base.progress import Bar
from reno_dspy.systems import Completion, System

Item = TypeVar("Item")


async def ask_system(
    system: System,
    items: Iterable[Item],
    text: Callable[[Item], str],
    keep: Callable[[Item, Completion], None],
    budget: FailureBudget,
    *,
    concurrency: int | None = None,
    on_silence: Callable[[float], None],
) -> None:
    """Annotate the `text` of every item with a system that was started, as `ask_all` asks.

    The batches are the system's; `concurrency` replaces its own. Raises the budget's verdict.
    """

    async def annotate(batch: list[Item]) -> list[Completion]:
        return await system.annotate([text(item) for item in batch])

    await ask_all(
        items,
        annotate,
        keep,
        budget,
        batch_size=system.batch_size,
        concurrency=concurrency or system.concurrency,
        on_silence=on_silence,
    )


class Meter:
    """Advances a bar by every answer; shows the failures and the speed of this session beside it."""

    def __init__(self, progress: Bar) -> None:
        self._progress = progress
        self._started = time.monotonic()
        self._answers = self._failed = self._tokens = 0

    def advance(self, completion: Completion) -> None:
        """Count one answer."""
        self._answers += 1
        self._failed += completion.error is not None
        self._tokens += completion.completion_tokens or 0
        seconds = max(time.monotonic() - self._started, 1e-9)
        note = f"{self._failed} errors, {self._answers / seconds:,.1f} references/s"
        if self._tokens:
            note += f", {self._tokens / seconds:,.0f} tokens/s"
        self._progress.advance(note=note)
