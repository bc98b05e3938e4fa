"""Calibrate a system's confidence on references that its model was not trained on.

    reno calibrate --system runs/crf/crf.crfsuite --data DEV

An answer is compared with the gold as training cleans it (`data.lessons`), so that a publisher's habits,
such as a full stop inside of every title, do not count as errors of the system. Gold values that are not in
the reference say nothing about an annotation in place: rows that have one in a scored field are left out.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from scipy.optimize import minimize
from scipy.special import expit

from reno_dspy.base.config import Free
from reno_dspy.base.errors import InputError, JobError
from reno_dspy.base.files import write_json
from reno_dspy.data.dataset import Dataset, Row
from reno_dspy.data.lessons import Lesson, lesson_of
from reno_dspy.data.options import StrictData
from reno_dspy.jats.elements import SCORED
from reno_dspy.jats.spans import render
from reno_dspy.measure.in_memory import answers
from reno_dspy.measure.metric import compare
from reno_dspy.measure.reliability import calibration_error
from reno_dspy.systems import Completion, Confidence, System
from reno_dspy.systems.calibration import (
    CalibratedSystem,
    Calibration,
    Rung,
    value_terms,
    whole_terms,
)
from reno_dspy.systems.options import SystemOptions

Floats = NDArray[np.float64]
# With fewer references the three coefficients are a guess.
FEWEST = 100
_FOLDS = 10
_RUNGS = 100
# How strongly each coefficient is drawn to that of a model whose probabilities are right as they are.
_PRIOR = 0.01


class CalibrateConfig(SystemOptions):
    """Options of `reno calibrate`."""

    data: str = Field(description="Pairs that the model was not trained on.")
    split: str | None = Field(None, description="Split of --data (a directory's: dev).")
    out: Free[Path | None] = Field(
        None, description="File to write.  [default: beside the model, where it is used from]"
    )
    strict_data: Free[StrictData] = False

    @model_validator(mode="after")
    def _in_this_process(self) -> Self:
        if self.on_workers:
            raise ValueError("a calibration takes one process; leave out --workers and --engine")
        return self


@dataclass(frozen=True)
class Outcome:
    """A system's confidence in one reference, and what the gold says of it.

    `values` are (probability, right) of those of the scored fields.
    """

    confidence: Confidence
    right: bool
    values: tuple[tuple[float, bool], ...]
    cluster: str | None


def calibrate(system: System, dataset: Dataset, out: Path | None) -> tuple[Calibration, Path]:
    """Fit the calibration of `system` on `dataset`; write it to `out`, or beside the model.

    Raises InputError for a system without probabilities or too few rows, JobError when it cannot answer.
    """
    if not isinstance(system, CalibratedSystem):
        raise InputError(
            f"{system.name} has no probabilities that could be calibrated; the CRF and the tagger have."
        )
    system.calibration = None
    lessons = [(row, lesson) for row in dataset.rows if (lesson := _usable(row)) is not None]
    if len(lessons) < FEWEST:
        raise InputError(
            f"Only {len(lessons)} of the {len(dataset.rows)} rows of {dataset.path} have gold whose "
            f"values all stand in the reference; a calibration needs {FEWEST}."
        )
    completions = asyncio.run(answers(system, [row.plaintext or "" for row, _ in lessons]))
    outcomes = [
        _outcome(row, lesson, completion)
        for (row, lesson), completion in zip(lessons, completions, strict=True)
    ]
    made = fit(outcomes, system.model_digest, dataset.ref().name, dataset.digest)
    file = out or system.calibration_file
    write_json(file, made.model_dump(mode="json"))
    return made, file


def fit(outcomes: Sequence[Outcome], model_digest: str, name: str, data_digest: str) -> Calibration:
    """The calibration that `outcomes` show; its figures are out of sample, by citing article."""
    terms = np.array([whole_terms(one.confidence) for one in outcomes])
    right = np.array([one.right for one in outcomes], dtype=float)
    values = [value for one in outcomes for value in one.values]
    value_rows = np.array([value_terms(probability) for probability, _ in values]).reshape(-1, 2)
    value_right = np.array([is_right for _, is_right in values], dtype=float)
    found = _out_of_fold(terms, right, [one.cluster for one in outcomes])
    before = np.array([one.confidence.whole for one in outcomes])
    a, b, c = logistic(terms, right).tolist()
    d, e = logistic(value_rows, value_right).tolist()
    return Calibration(
        model_digest=model_digest,
        whole=(a, b, c),
        value=(d, e),
        name=name,
        data_digest=data_digest,
        references=len(outcomes),
        values=len(values),
        ece=(calibration_error(before, right), calibration_error(found, right)),
        rungs=_rungs(found, right),
    )


def logistic(terms: Floats, right: Floats) -> Floats:
    """The coefficients (terms,) by which `terms` (n, terms) tell `right` (n,): those of least log loss.

    A Gaussian prior around (0, 1, 0, ...) keeps them finite where right and wrong do not overlap.
    """
    prior = np.eye(terms.shape[1])[1]
    signs = np.where(right > 0.5, 1.0, -1.0)

    def loss(found: Floats) -> tuple[float, Floats]:
        margins = signs * (terms @ found)
        slope = -terms.T @ (signs * expit(-margins)) + _PRIOR * (found - prior)
        away = float(((found - prior) ** 2).sum())
        return float(np.logaddexp(0.0, -margins).sum()) + _PRIOR * away / 2, slope

    found: Floats = minimize(loss, prior, jac=True, method="BFGS", options={"gtol": 1e-6}).x
    return found


def _out_of_fold(terms: Floats, right: Floats, clusters: Sequence[str | None]) -> Floats:
    """The confidence in each reference by coefficients fitted without its citing article."""
    names = [f"row {i}" if one is None else one for i, one in enumerate(clusters)]
    numbers = {name: i for i, name in enumerate(dict.fromkeys(names))}
    folds = np.array([numbers[name] % _FOLDS for name in names])
    found = np.zeros(len(right))
    for fold in range(_FOLDS):
        held = folds == fold
        if held.any():
            weights = logistic(terms[~held], right[~held])
            found[held] = 1 / (1 + np.exp(-terms[held] @ weights))
    return found


def _rungs(confidence: Floats, right: Floats) -> tuple[Rung, ...]:
    """What is accepted at a hundred thresholds, of which the first is the highest."""
    order = np.argsort(-confidence, kind="stable")
    counts = np.unique(np.linspace(0, len(order), _RUNGS + 1).round().astype(int))[1:]
    return tuple(
        Rung(
            threshold=float(confidence[order[count - 1]]),
            accepted=int(count),
            right=int(right[order[:count]].sum()),
            expected=float(confidence[order[:count]].mean()),
        )
        for count in counts
    )


def _usable(row: Row) -> Lesson | None:
    """What the row's gold says of its reference; None where that is not all in it, or nothing."""
    lesson = lesson_of(row)
    if not isinstance(lesson, Lesson) or set(SCORED) & set(lesson.missing):
        return None
    return lesson if any(span.field in SCORED for span in lesson.spans) else None


def _outcome(row: Row, lesson: Lesson, completion: Completion) -> Outcome:
    if completion.confidence is None:
        raise JobError(f"A reference could not be annotated: {completion.error}: {row.plaintext}")
    gold = Counter(
        (span.field, lesson.plaintext[span.start : span.end])
        for span in lesson.spans
        if span.field in SCORED
    )
    values = []
    for one in completion.confidence.values:
        if one.field in SCORED and one.probability is not None:
            key = (one.field, one.value)
            values.append((one.probability, gold[key] > 0))
            gold[key] -= 1
    right = compare(render(lesson.plaintext, lesson.spans), completion.text).whole_right
    return Outcome(completion.confidence, right, tuple(values), row.cluster)
