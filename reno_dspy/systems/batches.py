"""A batch of references through a model in this process, whatever happens to one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

from reno_dspy.jats.spans import render
from reno_dspy.systems import Completion


def complete_batch(
    annotate: Callable[[Sequence[str]], Sequence[str]], references: Sequence[str]
) -> list[Completion]:
    """A completion for each of `references` from `annotate`, which takes them together; never raises.

    A reference that XML cannot hold is an error and is not given to `annotate`. If that fails, the
    references go one by one, so that the one to blame is the only error.
    """
    start = perf_counter()
    problems = [_problem(reference) for reference in references]
    fit = [r for r, problem in zip(references, problems, strict=True) if problem is None]
    try:
        annotations = iter(annotate(fit))
    except Exception as error:  # the libraries of networks raise kinds of their own
        if len(references) > 1:
            return [one for r in references for one in complete_batch(annotate, [r])]
        return [Completion("", error=f"{type(error).__name__}: {error}")]
    each = (perf_counter() - start) / max(len(references), 1)
    return [
        Completion("" if problem else next(annotations), error=problem, latency_s=each)
        for problem in problems
    ]


def _problem(reference: str) -> str | None:
    """Why XML cannot hold `reference`; None where it can."""
    try:
        render(reference, ())
    except ValueError as error:
        return str(error)
    return None
