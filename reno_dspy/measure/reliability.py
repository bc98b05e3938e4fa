"""Whether a system's confidence means what it says, and which references it lets one accept unseen.

Reliability compares the mean confidence of groups of references with the share of them that are wholly
right. Risk-coverage (Geifman and El-Yaniv 2017) accepts the surest first: the area under the curve is the
mean share of wrong ones among the accepted, over every number that could be accepted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from reno_dspy.base.show import shown

Floats = NDArray[np.float64]
GROUPS = 10
# The shares right that a reader may want of what is accepted unseen, the first that can be had.
WANTED = (0.99, 0.95, 0.9)
# A share of fewer references says little.
_FEWEST_ACCEPTED = 20
_SIMULATIONS = 200
# The 97.5% quantile of the standard normal distribution.
_Z = 1.959964


@dataclass(frozen=True)
class Group:
    """References of like confidence: how many, their mean confidence, the share wholly right."""

    n: int
    confidence: float
    right: float


@dataclass(frozen=True)
class Accepted:
    """The references of at least the confidence `threshold`: how many, and the right ones among them.

    `wanted` is the share right for which the threshold was chosen, on these same references.
    """

    wanted: float
    threshold: float
    n: int
    right: int

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the share right (Wilson 1927)."""
        return wilson(self.right, self.n)


@dataclass(frozen=True)
class Reliability:
    """How far confidence can be trusted on `n` references that have one.

    `ece` is the expected calibration error over GROUPS groups of like size, `chance` what it would be on
    average if the confidence were exactly right, for so few references are never spread evenly. `aurc` is
    the area under the risk-coverage curve. `accepted` is None where no threshold gives a wanted share.
    """

    n: int
    ece: float
    chance: float
    aurc: float
    groups: tuple[Group, ...]
    accepted: Accepted | None

    @classmethod
    def of(cls, confidence: Floats, right: Floats) -> Self:
        """The reliability of `confidence` (n,) in 0..1, where `right` (n,) is 0 or 1."""
        groups = tuple(_groups(confidence, right))
        order = np.argsort(-confidence, kind="stable")
        counts = np.arange(1, len(order) + 1)
        risk = 1 - np.cumsum(_shared(confidence, right)[order]) / counts
        return cls(
            n=len(right),
            ece=calibration_error(confidence, right),
            chance=_chance(confidence),
            aurc=float(risk.mean()),
            groups=groups,
            accepted=_accepted(confidence[order], right[order]),
        )

    def sentence(self) -> str:
        """What one may accept unseen, in words."""
        one = self.accepted
        if one is None:
            return f"No confidence is high enough to accept references unseen (n {self.n})."
        low, high = one.interval
        return (
            f"Accept the {shown(100 * one.n / self.n)}% above {one.threshold:.3f} unseen, and "
            f"{shown(100 * one.right / one.n)}% of them are wholly right "
            f"({one.right} of {one.n}, 95% interval {shown(100 * low)}–{shown(100 * high)}; the threshold "
            "was chosen on these references)."
        )

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """What `to_json` made `values` of. Raises KeyError or TypeError."""
        groups = tuple(Group(**one) for one in values["groups"])
        accepted = None if values["accepted"] is None else Accepted(**values["accepted"])
        return cls(**{**values, "groups": groups, "accepted": accepted})

    def to_metrics(self) -> dict[str, float | None]:
        """As metrics with slash names."""
        share = None if self.accepted is None else 100 * self.accepted.n / self.n
        return {
            "confidence/ece": self.ece,
            "confidence/aurc": self.aurc,
            "confidence/accepted": share,
            "confidence/threshold": None if self.accepted is None else self.accepted.threshold,
        }


def reliability_of(
    confidences: Sequence[float | None], right: Sequence[bool]
) -> Reliability | None:
    """The reliability of those `confidences` that are known; None where none is."""
    pairs = [(c, r) for c, r in zip(confidences, right, strict=True) if c is not None]
    if not pairs:
        return None
    found = np.array(pairs, dtype=float)
    return Reliability.of(found[:, 0], found[:, 1])


def calibration_error(confidence: Floats, right: Floats) -> float:
    """The mean distance of confidence and share right over groups of like size (Naeini 2015)."""
    total = sum(one.n * abs(one.confidence - one.right) for one in _groups(confidence, right))
    return total / len(right)


def wilson(right: int, n: int) -> tuple[float, float]:
    """The 95% interval of the share `right` of `n` (Wilson 1927), in 0..1."""
    share, z2 = right / n, _Z**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def _groups(confidence: Floats, right: Floats) -> Iterator[Group]:
    """Groups of like size, by confidence; never an empty one."""
    order = np.argsort(confidence, kind="stable")
    shared = _shared(confidence, right)
    for part in np.array_split(order, min(GROUPS, len(order))):
        yield Group(len(part), float(confidence[part].mean()), float(shared[part].mean()))


def _shared(confidence: Floats, right: Floats) -> Floats:
    """`right` as the mean of all of the same confidence, so that no order among these matters."""
    _, number, counts = np.unique(confidence, return_inverse=True, return_counts=True)
    means: Floats = np.bincount(number, right) / counts
    return means[number]


def _chance(confidence: Floats) -> float:
    """The mean error of outcomes drawn with exactly these probabilities."""
    random = np.random.default_rng(0)
    draws = random.random((_SIMULATIONS, len(confidence))) < confidence
    return float(np.mean([calibration_error(confidence, one.astype(float)) for one in draws]))


def _accepted(confidence: Floats, right: Floats) -> Accepted | None:
    """As many as can be, of those sorted by falling confidence, for the first of WANTED to be had."""
    counts = np.arange(1, len(right) + 1)
    sums = np.cumsum(right)
    # References of one confidence are accepted together.
    last = np.append(confidence[:-1] > confidence[1:], True)
    for wanted in WANTED:
        enough = np.flatnonzero((sums >= wanted * counts) & (counts >= _FEWEST_ACCEPTED) & last)
        if enough.size:
            at = int(enough[-1])
            return Accepted(wanted, float(confidence[at]), at + 1, int(sums[at]))
    return None
