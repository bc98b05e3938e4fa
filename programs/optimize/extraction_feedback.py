"""The GEPA metric of extraction: which references were found, cut, joined or made up.

The score is the mean similarity of the gold references to their best match (paper, section 2.2; 0
below the match threshold), times the share of strings that really stand in the text. Strings beyond
the gold cost nothing: the gold has only what could be matched to the article's JATS.
"""

from __future__ import annotations

from typing import Any

import dspy

from programs.optimize.feedback import Metric, Problem, failure_of, write_feedback
from reno_dspy.build.match import THRESHOLD, similarity
from reno_dspy.build.references.find import verify
from reno_dspy.jats.text import collapse

_SHOWN = 120


def make_extraction_metric(max_chars: int = 900) -> Metric:
    """The metric that `dspy.GEPA` calls; deterministic, and it never raises.

    Examples carry `chunk` and `gold` (strings), predictions `references` (strings).
    """

    def metric(
        gold: Any,
        pred: Any,
        trace: Any = None,
        pred_name: str | None = None,
        pred_trace: Any = None,
    ) -> dspy.Prediction:
        if failure := failure_of(pred):
            nothing = {"recall": 0.0, "verbatim": 0.0}
            return dspy.Prediction(score=0.0, feedback=failure, objective_scores=nothing)
        found = references_of(pred)
        best = [_best(reference, found) for reference in gold.gold]
        recall = sum(score for score, _ in best) / len(best) if best else 0.0
        made_up = verify(found, gold.chunk).hallucinated
        verbatim = 1 - len(made_up) / len(found) if found else 0.0
        problems = [
            Problem(1 - score, _missed(reference, match))
            for reference, (score, match) in zip(gold.gold, best, strict=True)
            if score < 1
        ]
        problems += [
            Problem(0.5, f"Not in the text: {_quote(one)}. Copy, do not correct.")
            for one in made_up
        ]
        problems.sort(key=lambda problem: -problem.cost)
        return dspy.Prediction(
            score=recall * verbatim,
            feedback=write_feedback(recall * verbatim, problems, max_chars),
            objective_scores={"recall": recall, "verbatim": verbatim},
        )

    return metric


def references_of(pred: Any) -> list[str]:
    """The references in a prediction; [] where there are none or they are not strings."""
    value = getattr(pred, "references", None)
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _best(reference: str, found: list[str]) -> tuple[float, str | None]:
    scored = [(similarity(collapse(reference), collapse(one)), one) for one in found]
    score, match = max(scored, default=(0.0, None))
    return (score, match) if score >= THRESHOLD else (0.0, match if score > 0.4 else None)


def _missed(reference: str, match: str | None) -> str:
    if match is None:
        return f"Missed: {_quote(reference)}."
    kind = "longer than" if len(match) > len(reference) else "shorter than"
    return f"{_quote(match)} should be {_quote(reference)}: it is {kind} the reference."


def _quote(text: str) -> str:
    text = collapse(text)
    half = _SHOWN // 2
    return f'"{text if len(text) <= _SHOWN else text[:half] + " … " + text[-half:]}"'
