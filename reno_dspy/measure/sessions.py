"""What the sessions of an evaluation took: one that is interrupted and resumed has several."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from reno_dspy.base.rundir import RunDir
from reno_dspy.base.tracker import Run
from reno_dspy.measure.files import PREDICTIONS, SESSIONS
from reno_dspy.systems import Completion


class Sessions:
    """The log of an evaluation's sessions: when each began, how long it took, what its trial took."""

    def __init__(self, run_dir: RunDir) -> None:
        self._log = run_dir.log(SESSIONS)
        self._answers = run_dir / PREDICTIONS

    def begin(self) -> None:
        """Note that a session begins, and how long the one before took if it was killed.

        That one worked until it kept its last answer, if it kept one.
        """
        known = [record for record in self._log.records() if {"started", "seconds"} & record.keys()]
        if known and "seconds" not in known[-1]:
            began = known[-1]["started"]
            last = self._answers.stat().st_mtime if self._answers.exists() else began
            self._write(seconds=max(0.0, last - began))
        self._started = time.time()
        self._write(started=self._started)

    def trial(self, completion: Completion | None) -> None:
        """Note what a system's trial request took, which is no answer to a row."""
        if completion is not None:
            counts = (completion.prompt_tokens, completion.completion_tokens)
            self._write(trial_tokens=_sum(counts), trial_cost=completion.cost)

    def end(self) -> None:
        """Note how long the session took."""
        self._write(seconds=time.time() - self._started)

    def totals(self) -> dict[str, float | None]:
        """What all sessions took, as metrics; None is unknown."""
        records = self._log.read()
        return {
            "seconds": _sum(record.get("seconds") for record in records),
            "tokens/trials": _sum(record.get("trial_tokens") for record in records),
            "cost/trials": _sum(record.get("trial_cost") for record in records),
        }

    def _write(self, **record: float | None) -> None:
        with self._log.appending() as out:
            out.write(record)


@contextmanager
def session(run_dir: RunDir, run: Run) -> Iterator[Sessions]:
    """One session of an evaluation, from its first question to its end or interruption."""
    sessions = Sessions(run_dir)
    sessions.begin()
    try:
        yield sessions
    finally:
        sessions.end()
        run.metrics(sessions.totals())


def _sum(values: Any) -> Any:
    """The sum of the values that are known; None where none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
