"""What an LM answers during a build: kept article by article as it comes, its failures counted.

A build that ends in the midst of an LM's stage, even by `kill -9`, asks on resume only for the articles
that are not kept. An article with a failure is not kept, so that it is asked again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from reno_dspy.base.errors import HOPELESS, JobError
from reno_dspy.base.jsonl import JsonlLog
from reno_dspy.base.progress import bar
from reno_dspy.build.local_engine import in_threads
from reno_dspy.build.store import Record


class LMStage:
    """One LM stage's answers in the file `path`; those of another `key` (input, LM) do not count.

    `units` is how many things (articles, pairs) the LM is asked about, `max_errors` the share of them
    on which it may fail.
    """

    def __init__(self, path: Path, key: str, units: int, max_errors: float) -> None:
        self._path, self._key = path, key
        self._units, self._max_errors = units, max_errors
        self._failed = self._in_a_row = 0

    def records(
        self,
        step: Callable[[Record], Record],
        rows: Iterable[Record],
        ids: Sequence[str],
        workers: int,
    ) -> Iterator[Record]:
        """`step` of each row (an article), in the order of `ids`; its failures are in `failed`.

        Raises JobError when the LM fails too often; what was answered is kept.
        """
        log, lock = JsonlLog(self._path), threading.Lock()
        known = {row["id"]: row["record"] for row in log.read() if row["key"] == self._key}
        pending = (row for row in rows if row["id"] not in known)
        with log.appending() as out, bar(self._path.name.split(".")[0], len(ids), len(known)) as b:

            def answer(row: Record) -> Record:
                record = step(row)
                if not record["failed"]:
                    with lock:  # here and not below, where an answer waits for those before it
                        out.write({"id": record["id"], "key": self._key, "record": record})
                return record

            with closing(in_threads(answer, pending, workers)) as answers:
                for record in answers:
                    known[record["id"]] = record
                    self._count(record)
                    b.advance(note=f"{self._failed} errors")
        yield from (known[name] for name in ids)

    def _count(self, record: Record) -> None:
        self._failed += len(record["failed"])
        self._in_a_row = self._in_a_row + len(record["failed"]) if record["failed"] else 0
        hopeless = self._in_a_row >= HOPELESS and self._max_errors < 1
        if hopeless or self._failed > self._max_errors * self._units:
            raise JobError(
                f"The LM failed {self._failed} times on {self._units}, more often than --max-errors "
                f"{self._max_errors:g} allows. The last reason: {record['failed'][-1]['error']}\n"
                "What was answered is kept; the same command resumes and tries the failed ones again."
            )
