"""The references to look at: those of which a system is less sure are written apart, the least sure first.

reno annotate refs.txt --out refs.xml --review-below 0.9     writes refs.xml and refs.review.xml
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from reno_dspy.annotate.files import Answer, Form, write_answers
from reno_dspy.annotate.log import AnswerIndex
from reno_dspy.base.errors import InputError
from reno_dspy.base.progress import bar
from reno_dspy.systems import System
from reno_dspy.systems.calibration import Calibration

# Below every confidence: an annotation without one, and a reference without an annotation.
_UNKNOWN, _FAILED = -1.0, -2.0


class Written(NamedTuple):
    """How many references were written, how many of them failed.

    `review` of them were less sure than `threshold`, and are in the file to review.
    """

    total: int
    failed: int
    review: int = 0
    threshold: float | None = None


def review_file(out: Path) -> Path:
    """The file of the references to look at."""
    return out.with_name(f"{out.stem}.review{out.suffix}")


def threshold_for(share: float, system: System) -> float:
    """The lowest confidence from which `share` of the references of the calibration were wholly right.

    Raises InputError where `system` has no calibration, or none of its thresholds reaches that share.
    """
    calibration: Calibration | None = getattr(system, "calibration", None)
    if calibration is None:
        raise InputError(
            f"{system.name} has no calibration from which --accept could choose a threshold: make one "
            "with `reno calibrate`, or name a threshold with --review-below."
        )
    rung = calibration.threshold(share)
    if rung is None:
        best = max(min(one.right / one.accepted, one.expected) for one in calibration.rungs)
        raise InputError(
            f"No threshold of {system.name} reaches {share:g}: the best reaches {best:.4f} on the "
            f"{calibration.references} references of its calibration. Name a lower --accept, or a "
            "threshold with --review-below."
        )
    return rung.threshold


def write_apart(
    out: Path, form: Form, index: AnswerIndex, below: float | None, *, confidence: bool
) -> Written:
    """Write every answer of `index` to `out`; those less sure than `below` to the file beside it.

    `confidence` writes what the system knows of each value, in the forms that leave it out by default.
    Raises InputError where `below` is given, but no answer has a confidence.
    """
    sure: Sequence[int] = range(len(index))
    review: list[int] = []
    if below is not None:
        ranks = array("d", map(_rank, index.answers()))
        if len(ranks) and max(ranks) == _UNKNOWN:
            raise InputError(
                "The system does not say how sure it is. Its answers are kept: leave out --review-below, "
                "and the same command writes them."
            )
        sure = [i for i, rank in enumerate(ranks) if rank >= below]
        review = sorted((i for i, rank in enumerate(ranks) if rank < below), key=lambda i: ranks[i])
    with bar(f"write {out.name}", len(index)) as progress:

        def answers(chosen: Iterable[int]) -> Iterator[Answer]:
            for i in chosen:
                yield index.answer(i)
                progress.advance()

        def write(path: Path, chosen: Sequence[int]) -> int:
            numbers = (i + 1 for i in chosen)
            return write_answers(
                path, form, answers(chosen), numbers=numbers, confidence=confidence
            )[1]

        # First, for a job whose output is there is finished.
        failed = write(review_file(out), review) if below is not None else 0
        return Written(len(index), failed + write(out, sure), len(review), below)


def _rank(answer: Answer) -> float:
    if answer["annotation"] is None:
        return _FAILED
    return answer.get("confidence", _UNKNOWN)
