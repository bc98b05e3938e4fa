"""Asking many: batches, calls at once, what is under way when a job stops, and Ctrl-C."""

import asyncio
import itertools
from collections.abc import Iterator

import pytest

from reno_dspy.base import asking
from reno_dspy.base.asking import ask_all
from reno_dspy.base.errors import JobError
from reno_dspy.base.failures import FailureBudget


class Service:
    """Doubles numbers; fails from number `dies_at` on. Counts calls and how many ran at once."""

    def __init__(self, dies_at: int = 10**9, takes: float = 0) -> None:
        self.dies_at, self.takes = dies_at, takes
        self.batches: list[list[int]] = []
        self.running = self.most = 0

    async def ask(self, batch: list[int]) -> list[str | None]:
        self.batches.append(batch)
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(self.takes)
        self.running -= 1
        return ["gone" if n >= self.dies_at else None for n in batch]


def run(
    service: Service, items: Iterator[int], budget: FailureBudget, **options: int
) -> list[tuple[int, str | None]]:
    kept: list[tuple[int, str | None]] = []

    def keep(item: int, error: str | None) -> None:
        kept.append((item, error))
        budget.count(error)

    try:
        asyncio.run(
            ask_all(items, service.ask, keep, budget, on_silence=lambda seconds: None, **options)
        )
    except JobError:
        assert budget.verdict
    return kept


def test_items_are_asked_in_batches_so_many_at_once_and_lazily() -> None:
    service = Service()
    kept = run(service, iter(range(10)), FailureBudget(1, 10), batch_size=3, concurrency=2)
    assert sorted(kept) == [(n, None) for n in range(10)]
    assert service.batches == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]
    assert service.most == 2
    taken = []

    def endless() -> Iterator[int]:
        for n in range(10**9):
            taken.append(n)
            yield n

    run(Service(dies_at=0), endless(), FailureBudget(0.2, 10**9), concurrency=4)
    assert len(taken) <= 20 + 4


def test_what_is_under_way_at_the_verdict_is_kept() -> None:
    service = Service(dies_at=1)
    kept = run(service, iter(range(10_000)), FailureBudget(0.2, 10_000), concurrency=8)
    assert len(kept) == sum(map(len, service.batches)) <= 1 + 20 + 8


def test_an_error_of_one_call_ends_the_others() -> None:
    ended = []

    async def ask(batch: list[int]) -> list[None]:
        if batch == [3]:
            raise RuntimeError("broken")
        try:
            await asyncio.sleep(10 if batch != [0] else 0)
        except asyncio.CancelledError:
            ended.append(batch[0])
            raise
        return [None]

    async def main() -> None:
        budget = FailureBudget(1, 9)
        await ask_all(
            range(9), ask, lambda item, answer: None, budget, concurrency=4, on_silence=print
        )

    with pytest.raises(RuntimeError, match="broken"):
        asyncio.run(main())
    assert sorted(ended) == [1, 2, 4]


def test_long_silence_is_told_each_time_it_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "PATIENCE_S", 0.03)
    told: list[float] = []

    async def main(takes: float) -> None:
        service = Service(takes=takes)
        await ask_all(
            range(1),
            service.ask,
            lambda item, answer: None,
            FailureBudget(1, 1),
            concurrency=1,
            on_silence=told.append,
        )

    asyncio.run(main(0))
    assert told == []
    asyncio.run(main(0.5))
    assert 1 < len(told) < 6
    assert all(later >= 2 * earlier for earlier, later in itertools.pairwise(told))
