"""What an LM answers during a build: kept article by article as it comes, its failures counted.

A build that ends during an LM's stage, even by `kill -9`, asks on resume only about the articles that are
not kept. An article with a failure is not kept, so that it is asked about again.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ParamSpec, TypeVar

from reno_dspy.base.asking import ask_all
from reno_dspy.base.errors import JobError
from reno_dspy.base.failures import FailureBudget
from reno_dspy.base.jsonl import Appender, JsonlLog
from reno_dspy.base.progress import bar
from reno_dspy.build.store import Record

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


class LMStage:
    """One LM stage's answers in the file `path`; those of another `key` (input, LM) do not count.

    `start` makes a trial request, before the first question and only if there is one.
    """

    def __init__(
        self,
        path: Path,
        key: str,
        budget: FailureBudget,
        start: Callable[[], object] | None = None,
    ) -> None:
        self._log, self._key, self._budget = JsonlLog(path), key, budget
        self._start = start
        self._name = path.name.split(".")[0]

    def counted(self, ask: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
        """`ask` (which raises JobError when the LM fails) with its failures counted.

        Once the failure budget is used up, it fails without asking: the rest of an article costs nothing.
        """

        def asked(*args: Arguments.args, **options: Arguments.kwargs) -> Answer:
            self._budget.check()
            try:
                answer = ask(*args, **options)
            except JobError as error:
                self._budget.count(str(error))
                raise
            self._budget.count(None)
            return answer

        return asked

    def records(
        self,
        step: Callable[[Record], Record],
        rows: Iterable[Record],
        ids: Sequence[str],
        workers: int,
    ) -> Iterator[Record]:
        """`step` of each row (an article), in the order of `ids`, `workers` at once in threads.

        A record's failures are in its `failed`. Raises JobError when the LM fails the trial request, or
        fails too often; what was answered is kept.
        """
        known = {row["id"]: row["record"] for row in self._log.read() if row["key"] == self._key}
        if self._start is not None and any(name not in known for name in ids):
            self._start()
        pending = (row for row in rows if row["id"] not in known)
        with self._log.appending() as out, bar(self._name, len(ids), len(known)) as progress:

            def keep(row: Record, record: Record) -> None:
                known[row["id"]] = record
                progress.advance(note=f"{self._budget.failed} errors")

            asyncio.run(self._ask(self._kept(step, out), pending, keep, workers, progress.silent))
        yield from (known[name] for name in ids)

    def _kept(self, step: Callable[[Record], Record], out: Appender) -> Callable[[Record], Record]:
        """`step`, which keeps what it makes in its own thread: Ctrl-C waits for it, then ends the loop."""
        lock = threading.Lock()

        def run(row: Record) -> Record:
            record = step(row)
            if not record["failed"]:
                with lock:
                    out.write({"id": record["id"], "key": self._key, "record": record})
            return record

        return run

    async def _ask(
        self,
        step: Callable[[Record], Record],
        rows: Iterable[Record],
        keep: Callable[[Record, Record], None],
        workers: int,
        on_silence: Callable[[float], None],
    ) -> None:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(workers) as pool:

            async def ask(batch: list[Record]) -> list[Record]:
                [row] = batch
                return [await loop.run_in_executor(pool, step, row)]

            await ask_all(rows, ask, keep, self._budget, concurrency=workers, on_silence=on_silence)
