"""Calibration: what a model's probabilities are worth on references that it never saw.

A model is surer than it should be, above all of references unlike those that it learnt from. So logistic
regressions (Platt 1999) turn its probability p into the share that was right on held-out references:

    whole reference   logit = a + b logit(p) + c log(1 + values)
    single value      logit = a + b logit(p)

An annotation of few values has often missed one; the probability of the labels cannot see that. The numbers
are kept in a file beside the model (`reno calibrate` writes it) and are part of the system's identity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, ValidationError

from reno_dspy.base.errors import InputError
from reno_dspy.base.files import digest
from reno_dspy.systems import Confidence, System
from reno_dspy.systems.batches import Annotated

SUFFIX = ".calibration.json"
# A probability of exactly 0 or 1 has no logit.
_EDGE = 1e-6


class Rung(BaseModel):
    """Of the calibrating references, `accepted` had at least the confidence `threshold`.

    `right` of them were wholly right; `expected` is their mean confidence.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    threshold: float
    accepted: int
    right: int
    expected: float


class Calibration(BaseModel):
    """The coefficients for one model, and how its confidence did out of sample (`rungs`).

    `references` were used of the data `name` with `data_digest`; `values` of the scored fields were
    compared. `ece` is the expected calibration error before and after, by cross-validation.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model_digest: str
    whole: tuple[float, float, float]
    value: tuple[float, float]
    name: str
    data_digest: str
    references: int
    values: int
    ece: tuple[float, float]
    rungs: tuple[Rung, ...]

    def calibrated(self, found: Confidence) -> Confidence:
        """`found` with the probabilities that experience has shown."""
        values = tuple(
            one
            if one.probability is None
            else replace(one, probability=self._value(one.probability))
            for one in found.values
        )
        return Confidence(_sigmoid(_dot(self.whole, whole_terms(found))), values)

    def _value(self, probability: float) -> float:
        return _sigmoid(_dot(self.value, value_terms(probability)))

    def threshold(self, share: float) -> Rung | None:
        """The lowest rung from which `share` of the accepted were right, as their confidence said too.

        None where no threshold reaches it.
        """
        enough = [
            rung
            for rung in self.rungs
            if rung.right >= share * rung.accepted and rung.expected >= share
        ]
        return min(enough, key=lambda rung: rung.threshold, default=None)


@runtime_checkable
class CalibratedSystem(System, Protocol):
    """A system with probabilities of its own, and the file in which their calibration is kept."""

    calibration: Calibration | None
    calibration_file: Path

    @property
    def model_digest(self) -> str:
        """The digest of the weights."""
        ...


def whole_terms(found: Confidence) -> tuple[float, float, float]:
    """What the confidence in a whole reference depends on."""
    judged = sum(one.probability is not None for one in found.values)
    return (1.0, _logit(found.whole), math.log1p(judged))


def value_terms(probability: float) -> tuple[float, float]:
    """What the confidence in a value depends on."""
    return (1.0, _logit(probability))


def calibration_file(model: Path) -> Path:
    """Where the calibration of a model file is kept."""
    return model.with_suffix(SUFFIX)


def load_calibration(file: Path, model_digest: str) -> Calibration | None:
    """The calibration in `file`; None where there is none.

    Raises InputError when it cannot be read, or was made for another model than `model_digest`.
    """
    try:
        found = Calibration.model_validate_json(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise InputError(f"{file} is no calibration of `reno calibrate`: {error}") from error
    if found.model_digest != model_digest:
        raise InputError(
            f"{file} was made for the model {found.model_digest}, and this one is {model_digest}. Remove "
            "the file, and run `reno calibrate` for this model."
        )
    return found


def identity_of(calibration: Calibration | None) -> dict[str, str]:
    """What a calibration adds to the identity of its system."""
    if calibration is None:
        return {}
    return {"calibration_digest": digest(calibration.model_dump_json().encode())}


def calibrated(calibration: Calibration | None, batch: Sequence[Annotated]) -> list[Annotated]:
    """`batch` with calibrated confidence; as it is where there is no calibration."""
    if calibration is None:
        return list(batch)
    return [
        one
        if one.confidence is None
        else Annotated(one.xml, calibration.calibrated(one.confidence))
        for one in batch
    ]


def _dot(weights: Sequence[float], terms: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(weights, terms, strict=True))


def _logit(probability: float) -> float:
    inside = min(max(probability, _EDGE), 1 - _EDGE)
    return math.log(inside / (1 - inside))


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value > -700 else 0.0
