"""The log of an annotation job: what is answered already, and whose job it is.

It lies beside the output until that is written. Its first record says which system answers.
"""

from __future__ import annotations

import fcntl
import os
from array import array
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import IO, Any, cast

from reno_dspy.annotating.files import Answer
from reno_dspy.base.errors import InputError
from reno_dspy.base.jsonl import JsonlLog

_NOWHERE = -1


@contextmanager
def locked_log(out: Path, *, fresh: bool) -> Iterator[JsonlLog]:
    """The log of the job for `out`, which no other process can have meanwhile; emptied if `fresh`.

    Raises InputError when one has it, or `out` cannot be written.
    """
    log = JsonlLog(out.with_name(f"{out.name}.partial"))
    try:
        log.path.parent.mkdir(parents=True, exist_ok=True)
        log.path.touch()
    except OSError as error:
        raise InputError(f"Cannot write {out} ({error.strerror}). Name another --out.") from error
    with open(log.path, "ab") as file:
        if not _locked(file):
            raise InputError(
                f"Another process is writing {out}. Wait for it, or name another --out."
            )
        if fresh:
            file.truncate(0)
        # Left by a process that was killed as it wrote the output.
        for left in out.parent.glob(f".{escape(out.name)}.*.tmp"):
            left.unlink()
        yield log


def _locked(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    # A process that has just finished has deleted what this one opened.
    return os.fstat(file.fileno()).st_nlink > 0


class AnswerIndex:
    """What a job's log holds: the place of each reference's last answer, on disk.

    `started` tells whether it holds anything, `answered` how many references need no other answer.
    """

    def __init__(self, log: JsonlLog, header: Mapping[str, Any]) -> None:
        """Read `log`. Raises InputError when it is not of a job that began with `header`."""
        self._log = log
        # Failures, which are tried again, as their complement.
        self._places = array("q")
        try:
            self._read(header)
        except (ValueError, LookupError, TypeError):
            raise self._refusal("is no log of `reno annotate`") from None
        self.answered = sum(place >= 0 for place in self._places)

    def _read(self, header: Mapping[str, Any]) -> None:
        records = self._log.with_offsets()
        first = next(records, None)
        self.started = first is not None
        if first is not None and first[1] != header:
            system = first[1]["system"]
            raise self._refusal(f"is of an unfinished job with {system}, or with other options")
        for place, record in records:
            index = record["index"]
            self._places.extend([_NOWHERE] * (index + 1 - len(self)))
            self._places[index] = ~place if record["error"] else place

    def __len__(self) -> int:
        return len(self._places)

    def has(self, index: int, reference: str) -> bool:
        """Whether a reference is answered. Raises InputError when another one has its number."""
        place = self._places[index] if index < len(self) else _NOWHERE
        if place != _NOWHERE:
            answer = self._answer(place)
            if answer["label"] + answer["text"] != reference:
                raise self._refusal("is of an unfinished job with other references")
        return place >= 0

    def check_count(self, count: int) -> None:
        """Raise InputError when there are answers to more references than `count`."""
        if len(self) > count:
            raise self._refusal("is of an unfinished job with more references")

    def answers(self) -> Iterator[Answer]:
        """The last answer to every reference, in the order of the references."""
        return map(self._answer, self._places)

    def _answer(self, place: int) -> Answer:
        return cast(Answer, self._log.at(place if place >= 0 else ~place))

    def _refusal(self, what: str) -> InputError:
        return InputError(
            f"{self._log.path} {what}. Start over with --fresh, or name another --out."
        )
