"""The GEPA metric: a citation's score, and feedback from which a reflection LM can learn.

The score is, by default, the mean over the fields that the gold has of lenient recall; a recipe may
mix in well-formedness and text fidelity. The feedback names what was missed, wrong and invented and
where malformed XML broke, the most costly first, cut to a length that a reflection prompt can carry.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dspy
from rapidfuzz.distance import Levenshtein

from programs.config import LONG_PROMPT, Objective
from programs.reply import FAILURE
from reno_dspy.jats.citation import read
from reno_dspy.jats.text import collapse
from reno_dspy.measure.fields import THRESHOLDS
from reno_dspy.measure.metric import PAPER, CitationScore, FieldScore, compare

Metric = Callable[..., dspy.Prediction]

_SHOWN = 80  # characters of a value, or of the text around it, that feedback quotes
_POSITION = re.compile(r",? ?\(<string>, line \d+\)$")


@dataclass(frozen=True)
class Problem:
    """One thing that went wrong and what it costs of the citation's score (0..1)."""

    cost: float
    text: str


def make_metric(objective: Objective, max_chars: int = 900) -> Metric:
    """The metric that `dspy.GEPA` calls; deterministic, and it never raises.

    Examples carry `reference` and `gold` (XML), predictions `annotation`. It returns a Prediction
    with `score` (0..1), `feedback` (at most `max_chars` characters) and `objective_scores` (lenient
    recall by field of the gold). The score does not depend on `pred_name`.
    """

    def metric(
        gold: Any,
        pred: Any,
        trace: Any = None,
        pred_name: str | None = None,
        pred_trace: Any = None,
    ) -> dspy.Prediction:
        reference, annotation = str(gold.reference), annotation_of(pred)
        comparison = compare(gold.gold, annotation, PAPER, reference)
        recalls = field_recalls(comparison)
        if failure := failure_of(pred):
            return dspy.Prediction(score=0.0, feedback=failure, objective_scores=recalls)
        score = citation_score(comparison, objective, getattr(pred, "prompt_chars", 0))
        problems = find_problems(reference, annotation, comparison)
        return dspy.Prediction(
            score=score,
            feedback=write_feedback(score, problems, max_chars),
            objective_scores=recalls,
        )

    return metric


def failure_of(pred: Any) -> str | None:
    """Feedback for a failed request, which is no evidence about the instructions."""
    reason = getattr(pred, FAILURE, None)
    return f"There was no answer to judge: {reason}." if reason else None


def annotation_of(pred: Any) -> str:
    """The annotation in a prediction; "" where there is none or it is not text."""
    value = getattr(pred, "annotation", None)
    return value if isinstance(value, str) else ""


def field_recalls(comparison: CitationScore) -> dict[str, float]:
    """Lenient recall of each field that the gold has."""
    return {
        name: field.lenient / field.gold for name, field in comparison.fields.items() if field.gold
    }


def citation_score(comparison: CitationScore, objective: Objective, prompt_chars: int = 0) -> float:
    """The objective of one citation, in 0..1; recall is 0 for a gold without any field.

    `prompt_chars` is the length of the instructions that led to the answer.
    """
    recalls = field_recalls(comparison)
    parts = (
        (objective.recall, sum(recalls.values()) / len(recalls) if recalls else 0.0),
        (objective.well_formed, float(comparison.well_formed)),
        (objective.fidelity, float(comparison.fidelity or False)),
        (objective.brevity, max(0.0, 1 - prompt_chars / LONG_PROMPT)),
    )
    total = sum(weight for weight, _ in parts)
    return sum(weight * value for weight, value in parts) / total if total else 0.0


def find_problems(reference: str, annotation: str, comparison: CitationScore) -> list[Problem]:
    """Everything that is wrong with an annotation, the most costly first."""
    if not annotation.strip():
        return [Problem(1.0, "The answer was empty.")]
    problems = _structure(reference, annotation, comparison)
    wrong = [(name, value) for name, field in comparison.fields.items() for value in field.wrong]
    known = sum(1 for field in comparison.fields.values() if field.gold)
    for name, field in comparison.fields.items():
        cost = 1 / (known * field.gold) if field.gold else 0.0
        problems += _field_problems(name, field, cost, reference, wrong)
    return sorted(problems, key=lambda problem: -problem.cost)


def write_feedback(score: float, problems: list[Problem], max_chars: int) -> str:
    """Problems as numbered lines, whole ones only, within `max_chars`."""
    head = f"Score {score:.2f} of 1."
    if not problems:
        return f"{head} Everything the gold has was found, and nothing was lost or invented."
    lines = [head]
    length = len(head) + 40  # room for the last line
    for number, problem in enumerate(problems, start=1):
        line = f"{number}. {problem.text}"
        if length + len(line) + 1 > max_chars and number > 1:
            lines.append(f"({len(problems) - number + 1} more problems.)")
            break
        lines.append(line[: max(0, max_chars - length)])
        length += len(line) + 1
    return "\n".join(lines)


def _structure(reference: str, annotation: str, comparison: CitationScore) -> list[Problem]:
    reading = read(annotation)
    found = []
    if reading.problem:
        where = _POSITION.sub("", reading.problem)
        found.append(Problem(1.0, f"The answer is not one well-formed XML element: {where}."))
    if comparison.fenced:
        found.append(Problem(0.01, "The answer stood in a code fence; only XML is wanted."))
    if reading.text is not None and not comparison.fidelity:
        found.append(Problem(0.02, _text_changes(collapse(reference), reading.text)))
    return found


def _text_changes(reference: str, text: str) -> str:
    """Which text of the reference the annotation lost, and which it invented."""
    matcher = difflib.SequenceMatcher(None, reference[:2000], text[:2000], autojunk=False)
    changes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    lost = "".join(
        reference[i1:i2] + " " for _, i1, i2, _, _ in changes if reference[i1:i2].strip()
    )
    new = "".join(text[j1:j2] + " " for _, _, _, j1, j2 in changes if text[j1:j2].strip())
    parts = [f"lost {_quote(lost)}"] if lost else []
    parts += [f"added {_quote(new)}"] if new else []
    return "Tags aside, the answer must repeat the reference: it " + (
        " and ".join(parts) if parts else "changed only white space"
    ) + "."  # fmt: skip


def _field_problems(
    name: str, field: FieldScore, cost: float, reference: str, wrong: list[tuple[str, str]]
) -> list[Problem]:
    own = [value for value in field.wrong if value]
    problems = []
    for gold in field.missed:
        near = _nearest(gold, own)
        if near is None:
            problems.append(Problem(cost, _missed(name, gold, reference, wrong)))
            continue
        own.remove(near)
        distance, allowed = Levenshtein.distance(gold[:500], near[:500]), THRESHOLDS.get(name, 0)
        text = f"<{name}> is {_quote(near)} but should be {_quote(gold)} (edit distance {distance},"
        problems.append(Problem(cost, f"{text} {allowed} allowed)."))
    problems += [Problem(0.005, _unwanted(name, value, reference)) for value in own]
    empty = len(field.wrong) - len([value for value in field.wrong if value])
    if empty:
        problems.append(Problem(0.001, f"{empty} empty <{name}>: leave out what is not there."))
    return problems


def _nearest(gold: str, values: list[str]) -> str | None:
    """The closest value, if it is closer to `gold` than half of the longer one's length."""
    scored = [(Levenshtein.normalized_distance(gold[:500], v[:500]), v) for v in values]
    distance, value = min(scored, default=(1.0, ""))
    return value if distance <= 0.5 else None


def _missed(name: str, gold: str, reference: str, wrong: list[tuple[str, str]]) -> str:
    elsewhere = next((other for other, value in wrong if value == gold and other != name), None)
    found = re.search(rf"(?<!\w){re.escape(gold)}(?!\w)", reference)
    if elsewhere:
        where = f"it was tagged <{elsewhere}>"
    elif found is None:
        where = "the reference writes it differently"
    else:
        around = reference[max(0, found.start() - 20) : found.end() + 20]
        where = f"it stands at character {found.start()}, in {_quote(around)}"
    return f"<{name}> {_quote(gold)} was missed; {where}."


def _unwanted(name: str, value: str, reference: str) -> str:
    if collapse(value) in collapse(reference):
        return f"<{name}> {_quote(value)} is not one, or is one too many."
    return f"<{name}> {_quote(value)} was invented: the reference does not say it."


def _quote(value: str) -> str:
    value = collapse(value)
    return f'"{value if len(value) <= _SHOWN else value[: _SHOWN - 1] + "…"}"'
