"""A batch of references through a model or a command, whatever happens to one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import NamedTuple

from reno_dspy.jats.spans import render
from reno_dspy.systems import Completion, Confidence


class Annotated(NamedTuple):
    """An annotation, and how sure the system is of it where it knows."""

    xml: str
    confidence: Confidence | None = None


class AnnotatingFailed(Exception):
    """Why there is no annotation, in words for people."""


def complete_batch(
    annotate: Callable[[Sequence[str]], Sequence[Annotated]], references: Sequence[str]
) -> list[Completion]:
    """A completion for each of `references` from `annotate`, which takes them together; never raises.

    A reference that XML cannot hold is an error and is not given to `annotate`. If `annotate` fails, the
    batch goes again in halves, and those that fail in halves again, until the reference to blame is
    alone; its error is the message of AnnotatingFailed, or names any other exception.
    """
    start = perf_counter()
    problems = [_problem(reference) for reference in references]
    fit = [r for r, problem in zip(references, problems, strict=True) if problem is None]
    try:
        annotations = iter(annotate(fit))
    except Exception as error:  # the libraries of networks raise kinds of their own
        half = len(references) // 2
        if half:
            halves = references[:half], references[half:]
            return [one for part in halves for one in complete_batch(annotate, part)]
        said = str(error) if isinstance(error, AnnotatingFailed) else repr(error)
        return [Completion("", error=said, latency_s=perf_counter() - start)]
    each = (perf_counter() - start) / max(len(references), 1)
    return [
        Completion("", error=problem, latency_s=each)
        if problem
        else _completion(next(annotations), each)
        for problem in problems
    ]


def _completion(one: Annotated, seconds: float) -> Completion:
    return Completion(one.xml, latency_s=seconds, confidence=one.confidence)


def _problem(reference: str) -> str | None:
    """Why XML cannot hold `reference`; None where it can."""
    try:
        render(reference, ())
    except ValueError as error:
        return str(error)
    return None
