"""An optimize run's LM calls: every answer is kept, so that none is paid twice.

GEPA scores the seed prompt again on every start and asks a minibatch again in every epoch. Answers are
kept in the run directory by the exact messages that asked for them; a killed run resumes without
repeating a call. Token counts and costs over all sessions come from the same files.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dspy
from dspy.utils.exceptions import LMError

from programs.chat_format import PlainAdapter
from programs.reply import last_usage
from programs.trouble import ENDPOINT_ERRORS, explain
from reno_dspy.base.errors import JobError
from reno_dspy.base.failures import FailureBudget
from reno_dspy.base.files import digest_json
from reno_dspy.base.jsonl import JsonlLog


@dataclass(frozen=True)
class Spent:
    """What calls took: requests, tokens, US dollars (None where the price is not known)."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens."""
        return self.prompt_tokens + self.completion_tokens


class Answers:
    """The kept answers of one run, and the failure that ended it, if one did.

    `rows` are those of earlier sessions, `write` keeps a new one. `budget` counts the requests that the
    student's endpoint refused (a prompt too long, an option that it does not know): each is an empty
    answer that scores nothing.
    """

    def __init__(
        self,
        rows: list[dict[str, Any]],
        write: Callable[[Mapping[str, Any]], None],
        budget: FailureBudget,
    ) -> None:
        self.budget = budget
        self._write = write
        self._lock = threading.Lock()
        self._askers: dict[str, threading.Lock] = {}
        self._rows = rows
        self._texts: dict[str, str] = {row["key"]: row["text"] for row in self._rows}
        self.failure: str | None = None
        self.interrupted = False

    @property
    def stopped(self) -> bool:
        """Whether nothing more is to be asked."""
        return bool(self.failure or self.interrupted or self.budget.verdict)

    def get(self, messages: list[dict[str, Any]]) -> str | None:
        """The kept answer to exactly these messages."""
        return self._texts.get(_key(messages))

    def asking(self, messages: list[dict[str, Any]]) -> threading.Lock:
        """The lock that only one asker of exactly these messages holds."""
        with self._lock:
            return self._askers.setdefault(_key(messages), threading.Lock())

    def keep(self, messages: list[dict[str, Any]], text: str, lm: dspy.BaseLM) -> None:
        """Keep an answer with what `lm`'s last call took."""
        row = {"key": _key(messages), "text": text, **last_usage(lm)}
        self.budget.count(None)
        with self._lock:
            self._write(row)
            self._rows.append(row)
            self._texts[row["key"]] = text

    def fail(self, error: Exception, lm: dspy.BaseLM) -> None:
        """Note a failed request.

        One that the next request would meet as well ends the run at once: no candidate's score may
        depend on whether the endpoint was up. A refused one is counted.
        """
        if isinstance(error, ENDPOINT_ERRORS):
            self.failure = self.failure or explain(error, lm)
        else:
            self.budget.count(explain(error, lm))

    def spent(self) -> Spent:
        """What all kept answers took, earlier sessions included."""
        with self._lock:
            return add_up(self._rows)


@contextmanager
def open_answers(log: JsonlLog, budget: FailureBudget) -> Iterator[Answers]:
    """The answers that `log` keeps, open for more."""
    rows = log.read()
    with log.appending() as appender:
        yield Answers(rows, appender.write, budget)


class KeepingAdapter(PlainAdapter):
    """The adapter of an optimize run: answers from `answers` first, and keeps the new ones.

    A failed request is an empty answer: it scores nothing, and `answers` says whether to go on.
    """

    def __init__(self, answers: Answers) -> None:
        super().__init__()
        self.answers = answers

    def __call__(
        self,
        lm: dspy.BaseLM,
        lm_kwargs: dict[str, Any],
        signature: type[dspy.Signature],
        demos: list[dict[str, Any]],
        inputs: dict[str, Any],
    ) -> list[dict[str, Any]]:
        """One answer, kept or new."""
        messages = self.format(signature, demos, inputs)
        # A minibatch may hold an example twice: the second waits for the first one's answer.
        with self.answers.asking(messages):
            text = self.answers.get(messages)
            if text is None:
                text = self._ask(lm, lm_kwargs, signature, demos, inputs, messages)
        return [self.parse(signature, text)]

    def _ask(
        self,
        lm: dspy.BaseLM,
        lm_kwargs: dict[str, Any],
        signature: type[dspy.Signature],
        demos: list[dict[str, Any]],
        inputs: dict[str, Any],
        messages: list[dict[str, Any]],
    ) -> str:
        if self.answers.stopped:
            return ""
        own = lm.copy()  # with a history of its own, threads do not read each other's usage
        try:
            (output,) = super().__call__(own, lm_kwargs, signature, demos, inputs)
        except LMError as error:
            self.answers.fail(error, own)
            return ""
        (text,) = output.values()
        self.answers.keep(messages, text, own)
        return str(text)


class StopOnFailure:
    """A GEPA stopper that ends the job as failed, before what the failure spoilt is saved."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def __call__(self, gepa_state: Any) -> bool:
        """Raise JobError once the endpoint has failed, or has refused too many requests."""
        if self._answers.interrupted:
            raise KeyboardInterrupt
        self._answers.budget.check()
        if self._answers.failure:
            raise JobError(
                f"{self._answers.failure}. What was done is kept: the same command resumes once "
                "the endpoint answers."
            )
        return False


def add_up(rows: list[dict[str, Any]]) -> Spent:
    """The sum over rows of `prompt_tokens`, `completion_tokens` and `cost`."""
    costs = [row["cost"] for row in rows if row.get("cost") is not None]
    return Spent(
        calls=len(rows),
        prompt_tokens=sum(row.get("prompt_tokens") or 0 for row in rows),
        completion_tokens=sum(row.get("completion_tokens") or 0 for row in rows),
        cost=sum(costs) if costs else None,
    )


def _key(messages: list[dict[str, Any]]) -> str:
    return digest_json(messages, 64)
