"""An optimize run's LM calls: every answer is kept, so that none is paid twice.

GEPA scores the seed prompt again on every start and asks a minibatch again in every epoch. Answers are
kept in the run directory by the exact messages that asked for them; a killed run resumes without
repeating a call. Token counts and costs over all sessions come from the same files.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dspy
from dspy.utils.exceptions import LMError

from programs.chat_format import PlainAdapter
from programs.reply import FAILURE, NoContent, last_usage
from programs.trouble import ENDPOINT_ERRORS, explain
from reno_dspy.base.errors import JobError
from reno_dspy.base.failures import FailureBudget
from reno_dspy.base.files import digest_json
from reno_dspy.base.jsonl import JsonlLog
from reno_dspy.jats.thoughts import without_thoughts

_STOPPED = "the job was stopped"


@dataclass(frozen=True)
class Spent:
    """What calls took: requests, tokens, US dollars.

    Tokens and cost are None where no endpoint reported them, else the sum of those reported.
    """

    calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None

    @property
    def tokens(self) -> int | None:
        """Prompt and completion tokens."""
        tokens: int | None = _sum([self.prompt_tokens, self.completion_tokens])
        return tokens

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.calls + other.calls,
            _sum([self.prompt_tokens, other.prompt_tokens]),
            _sum([self.completion_tokens, other.completion_tokens]),
            _sum([self.cost, other.cost]),
        )


NOTHING = Spent(0, None, None, None)


class Answers:
    """The kept answers of one run, and the failure that ended it, if one did.

    `rows` are those of earlier sessions, `write` keeps a new one. `budget` counts the requests that came
    back without an answer (refused, filtered, empty): each scores nothing and is asked again by the next
    session.
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
        self._texts: dict[str, str] = {row["key"]: row["text"] for row in rows if "text" in row}
        self._empty: set[str] = set()
        self._idle = threading.Condition()
        self._under_way = 0
        self.failure: str | None = None
        self.interrupted = False

    @property
    def stopped(self) -> bool:
        """Whether nothing more is to be asked."""
        return bool(self.failure or self.interrupted or self.budget.verdict)

    def get(self, messages: list[dict[str, Any]]) -> str | None:
        """The kept answer to exactly these messages."""
        key = _key(messages)
        return "" if key in self._empty else self._texts.get(key)

    def asking(self, messages: list[dict[str, Any]]) -> threading.Lock:
        """The lock that only one asker of exactly these messages holds."""
        with self._lock:
            return self._askers.setdefault(_key(messages), threading.Lock())

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Around a request: `wait_until_idle` waits for its end."""
        with self._idle:
            self._under_way += 1
        try:
            yield
        finally:
            with self._idle:
                self._under_way -= 1
                self._idle.notify_all()

    def wait_until_idle(self, seconds: float) -> int:
        """Wait for requests under way, at most so long; the number of those that still are."""
        with self._idle:
            self._idle.wait_for(lambda: self._under_way == 0, seconds)
            return self._under_way

    def keep(self, messages: list[dict[str, Any]], text: str, lm: dspy.BaseLM) -> None:
        """Keep an answer with what `lm`'s last call took."""
        self.budget.count(None)
        self._keep({"key": _key(messages), "text": text, **last_usage(lm)})

    def fail(self, messages: list[dict[str, Any]], error: Exception, lm: dspy.BaseLM) -> str | None:
        """Record a failed request. Returns the reason, or None where the model itself said nothing.

        A failure that the next request would meet as well ends the run at once: no candidate's score
        may depend on whether the endpoint was up. Any other is counted, with the tokens that it took.
        """
        reason = explain(error, lm)
        if isinstance(error, ENDPOINT_ERRORS):
            self.failure = self.failure or reason
            return reason
        self.budget.count(reason)
        self._keep({"key": _key(messages), "error": reason, **last_usage(lm)})
        if not isinstance(error, NoContent) or not error.empty:
            return reason
        self._empty.add(_key(messages))  # not asked again before the next session
        return None

    def spent(self) -> Spent:
        """What all answers took, earlier sessions included."""
        with self._lock:
            return add_up(self._rows)

    def failures(self) -> Counter[str]:
        """The reasons why requests have no answer, each request once, earlier sessions included."""
        with self._lock:
            reasons = {row["key"]: row["error"] for row in self._rows if "error" in row}
            return Counter(reason for key, reason in reasons.items() if key not in self._texts)

    def thoughts(self) -> int:
        """How many answers began with thoughts."""
        with self._lock:
            return sum(without_thoughts(text)[1] for text in self._texts.values())

    def _keep(self, row: dict[str, Any]) -> None:
        with self._lock:
            self._write(row)
            self._rows.append(row)
            if "text" in row:
                self._texts[row["key"]] = row["text"]


@contextmanager
def open_answers(log: JsonlLog, budget: FailureBudget) -> Iterator[Answers]:
    """The answers that `log` keeps, open for more."""
    rows = log.read()
    with log.appending() as appender:
        yield Answers(rows, appender.write, budget)


class KeepingAdapter(PlainAdapter):
    """The adapter of an optimize run: answers from `answers` first, and keeps the new ones.

    A failed request is an empty answer with the reason as `FAILURE` beside it, unless the model itself
    chose to say nothing; `answers` says whether to go on.
    """

    def __init__(self, answers: Answers, *, may_be_empty: bool = False) -> None:
        super().__init__(may_be_empty=may_be_empty)
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
            if text is not None:
                return [self.parse(signature, text)]
            if self.answers.stopped:
                return [self._no_answer(signature, _STOPPED)]
            own = lm.copy()  # with a history of its own, threads do not read each other's usage
            try:
                with self.answers.under_way():
                    (output,) = super().__call__(own, lm_kwargs, signature, demos, inputs)
            except CancelledError:
                return [self._no_answer(signature, _STOPPED)]
            except LMError as error:
                return [self._no_answer(signature, self.answers.fail(messages, error, own))]
            (text,) = output.values()
            self.answers.keep(messages, str(text), own)
            return [output]

    def _no_answer(self, signature: type[dspy.Signature], reason: str | None) -> dict[str, Any]:
        return self.parse(signature, "") | ({} if reason is None else {FAILURE: reason})


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


def add_up(rows: Sequence[Mapping[str, Any]]) -> Spent:
    """The sum over rows of `prompt_tokens`, `completion_tokens` and `cost`."""
    names = ("prompt_tokens", "completion_tokens", "cost")
    return Spent(len(rows), *(_sum([row.get(name) for row in rows]) for name in names))


def _sum(values: Sequence[Any]) -> Any:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _key(messages: list[dict[str, Any]]) -> str:
    return digest_json(messages, 64)
