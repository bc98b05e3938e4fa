"""Ask a system about many references, in the batches and with as many calls at once as it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from reno_dspy.base.asking import ask_all
from reno_dspy.base.failures import FailureBudget
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
