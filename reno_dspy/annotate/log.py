"""The log of an annotation job: which references are answered, and whose job it is.

It is kept beside the output until the output is written. Its first record says which system answers.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from glob import escape
from pathlib import Path
from typing import Any, cast

from reno_dspy.annotate.files import Answer
from reno_dspy.base.errors import InputError
from reno_dspy.base.files import remove_unfinished
from reno_dspy.base.jsonl import JsonlLog
from reno_dspy.base.lock import locked

_NOWHERE = -1


@contextmanager
def locked_log(out: Path, *, fresh: bool) -> Iterator[JsonlLog]:
    """The log of the job for `out`, emptied if `fresh`, while no other process works on that job.

    Raises InputError when one does, or `out` cannot be written.
    """
    log = JsonlLog(out.with_name(f"{out.name}.partial"))
    with ExitStack() as stack:
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(out.with_name(f".{out.name}.lock"), str(out)))
            if fresh:
                log.path.unlink(missing_ok=True)
            log.path.touch()
            remove_unfinished(out.parent.glob(f".{escape(out.name)}.*.tmp"))
        except OSError as error:
            raise InputError(
                f"Cannot write {out} ({error.strerror}). Name another --out."
            ) from error
        yield log


class AnswerIndex:
    """Where in a job's log, on disk, each reference's last answer is.

    `started` tells whether the log holds anything, `answered` how many references need no other answer.
    """

    def __init__(self, log: JsonlLog, header: Mapping[str, Any]) -> None:
        """Read `log`. Raises InputError when it is not of a job that began with `header`."""
        self._log = log
        self._offsets = array("q")
        # 1 where the last answer is one, 0 where it is a failure, which is tried again.
        self._good = bytearray()
        try:
            self._read(header)
        except (ValueError, LookupError, TypeError):
            raise self._refusal("is no log of `reno annotate`") from None
        self.answered = sum(self._good)

    def _read(self, header: Mapping[str, Any]) -> None:
        records = self._log.with_offsets()
        first = next(records, None)
        self.started = first is not None
        if first is not None and first[1] != header:
            system = first[1]["system"]
            raise self._refusal(f"is of an unfinished job with {system}, or with other options")
        for offset, record in records:
            index = record["index"]
            more = max(0, index + 1 - len(self))
            self._offsets.extend([_NOWHERE] * more)
            self._good.extend(bytes(more))
            self._offsets[index], self._good[index] = offset, not record["error"]

    def __len__(self) -> int:
        return len(self._offsets)

    def has(self, index: int, reference: str) -> bool:
        """Whether a reference is answered. Raises InputError when another one has its number."""
        if index >= len(self) or self._offsets[index] == _NOWHERE:
            return False
        answer = self._answer(self._offsets[index])
        if answer["label"] + answer["text"] != reference:
            raise self._refusal("is of an unfinished job with other references")
        return bool(self._good[index])

    def check_count(self, count: int) -> None:
        """Raise InputError when there are answers to more references than `count`."""
        if len(self) > count:
            raise self._refusal("is of an unfinished job with more references")

    def answers(self) -> Iterator[Answer]:
        """The last answer to every reference, in the order of the references."""
        return map(self._answer, self._offsets)

    def answer(self, index: int) -> Answer:
        """The last answer to one reference."""
        return self._answer(self._offsets[index])

    def _answer(self, offset: int) -> Answer:
        return cast(Answer, self._log.at(offset))

    def _refusal(self, what: str) -> InputError:
        return InputError(
            f"{self._log.path} {what}. Start over with --fresh, or name another --out."
        )
