"""Asking the system about the references of one request: labels off, within the limits, in their order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from fastapi import HTTPException, Request

from reno_dspy.annotate.files import Answer
from reno_dspy.annotate.job import answer_of, unfit
from reno_dspy.annotate.list_labels import Labelled, split_labels
from reno_dspy.service.batching import Batcher, Busy
from reno_dspy.service.limits import Limits
from reno_dspy.systems import Completion

Result = TypeVar("Result")
# How many batches of a stream are asked about before the first is sent.
_AHEAD = 4


class Asker:
    """Answers requests with the system `name` behind `batcher`."""

    def __init__(self, name: str, batcher: Batcher, limits: Limits, batch_size: int) -> None:
        self.name = name
        self._batcher, self._limits = batcher, limits
        self._window = _AHEAD * batch_size

    async def answers(self, references: Sequence[str]) -> list[Answer]:
        """An answer to each of `references`. Raises HTTPException 413, or 503 when it takes too long."""
        self._check(len(references), self._limits.references)
        try:
            return await self._ask(list(split_labels(references)))
        except TimeoutError:
            raise HTTPException(503, self._late, {"Retry-After": "10"}) from None

    async def stream(self, references: Sequence[str]) -> AsyncIterator[Answer]:
        """The answers one by one, with errors for those that come after the time is up.

        Raises HTTPException as `answers`, before the first one.
        """
        self._check(len(references), self._limits.streamed)
        late, admitted = False, False
        for window in _windows(split_labels(references), self._window):
            try:
                answers = [] if late else await self._ask(window, admitted=admitted)
            except TimeoutError:
                late, answers = True, []
            admitted = True
            error = Completion("", error=self._late)
            for answer in answers or [answer_of(one, error) for one in window]:
                yield answer

    async def _ask(self, references: Sequence[Labelled], *, admitted: bool = False) -> list[Answer]:
        problems = [unfit("".join(one)) for one in references]
        fit = [one.text for one, no in zip(references, problems, strict=True) if no is None]
        try:
            with self._batcher.asking(fit, admitted=admitted) as futures:
                async with asyncio.timeout(self._limits.seconds):
                    found = iter(await asyncio.gather(*futures))
        except Busy:
            raise HTTPException(
                503, "Too many references wait for an answer. Try again soon.", {"Retry-After": "5"}
            ) from None
        completions = [Completion("", error=no) if no else next(found) for no in problems]
        return await asyncio.to_thread(
            lambda: [answer_of(*pair) for pair in zip(references, completions, strict=True)]
        )

    def _check(self, count: int, most: int) -> None:
        if count > most:
            raise HTTPException(413, f"{count:,} references; at most {most:,} in one request.")

    @property
    def _late(self) -> str:
        return f"No answer in {self._limits.seconds:g} s."


async def unless_gone(request: Request, work: Coroutine[None, None, Result]) -> Result:
    """What `work` gives; it ends early when the client has closed the connection.

    The body must have been read. Raises HTTPException 499 then, which nobody reads.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise HTTPException(499, "The client closed the connection.")
    finally:
        working.cancel()
        leaving.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _windows(references: Iterator[Labelled], size: int) -> Iterator[list[Labelled]]:
    while window := list(islice(references, size)):
        yield window
