"""When a job has failed too often to go on: one rule for every job that asks systems or models."""

from __future__ import annotations

import threading
from typing import Annotated

from pydantic import Field

from reno_dspy.base.config import Free
from reno_dspy.base.errors import JobError

# So many failures and no answer between them: nobody answers any more.
IN_A_ROW = 20

# The option of that rule, as every such job has it.
MaxErrors = Free[
    Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="Stop when more than this share of all items (and more than one) fails, or 20 "
            "in a row; 1 never stops.",
        ),
    ]
]
MAX_ERRORS = 0.2


class FailureBudget:
    """Counts answers and failures; has a `verdict` once a job should stop.

    That is when more than `share` of `total` items, and more than one, have failed, or when the last 20
    answers were failures. A share of 0 allows no failure, 1 any number. `total` may grow where a job does
    not know it beforehand; `what` names the items in messages. Threads may share a budget.
    """

    def __init__(self, share: float, total: int, what: str = "references") -> None:
        self.total = total
        self.failed = 0
        self.verdict: JobError | None = None
        self._share, self._what = share, what
        self._in_a_row = 0
        self._lock = threading.Lock()

    def count(self, error: str | None) -> None:
        """Count one answer: None where it is one, else the reason why there is none."""
        with self._lock:
            if error is None:
                self._in_a_row = 0
                return
            self.failed += 1
            self._in_a_row += 1
            # The first verdict stands: what comes in later does not change its reason.
            if self.verdict is None and (problem := self._problem()):
                self.verdict = JobError(
                    f"{problem} The last reason: {error}\nWhat was answered is kept; the same command "
                    "resumes and tries the failed ones again. --max-errors 1 never stops."
                )

    def check(self) -> None:
        """Raise the verdict, if there is one."""
        if self.verdict is not None:
            raise self.verdict

    def _problem(self) -> str | None:
        if self._share >= 1:
            return None
        # One failure is no share, unless none is allowed.
        allowed = max(self._share * self.total, 1) if self._share else 0
        if self.failed > allowed:
            return (
                f"{self.failed} of {self.total} {self._what} failed, more than --max-errors "
                f"{self._share:g} allows."
            )
        if self._in_a_row >= IN_A_ROW:
            return f"{self._in_a_row} {self._what} in a row failed."
        return None
