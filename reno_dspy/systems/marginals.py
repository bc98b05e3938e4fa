"""Probabilities of parts of a labelling, by the forward-backward sums over a lattice.

    alpha[t, b] = sum over a of alpha[t-1, a] step[a, b] * word[t, b] / scale[t]
    beta[t, a]  = sum over b of step[a, b] * word[t+1, b] * beta[t+1, b] / scale[t+1]

Each step is scaled so that alpha sums to one (Rabiner 1989, section V.A): the product of the scales is the
sum over all labellings, and alpha[t, a] * beta[t, a] the probability of label a at word t.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reno_dspy.systems.lattice import Chain, Floats, Ints, Table


class Stretch(NamedTuple):
    """Words `first` to `last` of reference number `reference`, as labelled by its path.

    Where `until` is not None, the stretch must end there: not all words after `last` up to `until` may
    have the label `inside`.
    """

    reference: int
    first: int
    last: int
    until: int | None = None
    inside: int = 0


@dataclass(frozen=True)
class Marginals:
    """The sums for a batch. Arrays are (words, references, ...), in the order of `table`."""

    table: Table
    chain: Chain
    weights: Floats
    scales: Floats
    alpha: Floats
    beta: Floats
    path: Ints
    # The probability of each reference's `allowed` labellings, in the order of `table`.
    agreed: Floats

    @classmethod
    def of(
        cls,
        chain: Chain,
        scores: Sequence[NDArray[np.floating]],
        paths: Sequence[Ints],
        allowed: Sequence[NDArray[np.bool_]],
    ) -> Marginals:
        """The sums for references with `scores` (words, labels) and one path (words,) each.

        `allowed` (words, labels) marks the labels of the event whose probability is `agreed`.
        """
        table = Table.of(scores)
        weights = np.exp(table.scores - table.scores.max(axis=2, keepdims=True))
        alpha, scales = _forward(chain, table, weights, table.rows(allowed))
        beta = _backward(chain, table, weights, scales[:, :, 0])
        with np.errstate(divide="ignore"):
            totals = np.log(scales).sum(axis=0)
        agreed = np.exp(np.minimum(totals[:, 1] - totals[:, 0], 0.0))
        path = table.rows(paths)
        return cls(table, chain, weights, scales[:, :, 0], alpha, beta, path, agreed)

    def whole(self) -> list[float]:
        """The probability of the `allowed` labellings of each reference."""
        found: list[float] = self.agreed[np.argsort(self.table.order)].tolist()
        return found

    def of_stretches(self, stretches: Sequence[Stretch]) -> list[float]:
        """The probability of each of `stretches`."""
        if not stretches:
            return []
        rows = np.argsort(self.table.order)[[one.reference for one in stretches]]
        first = np.array([one.first for one in stretches])
        last = np.array([one.last for one in stretches])
        reached = self._reached(rows, first, last)
        found = reached * self.beta[last, rows, self.path[last, rows]]
        found -= self._going_on(stretches, rows, last, reached)
        clipped: list[float] = np.clip(found, 0.0, 1.0).tolist()
        return clipped

    def _reached(self, rows: Ints, first: Ints, last: Ints) -> Floats:
        """The forward sum at `last` of the labellings that agree with the path from `first` on."""
        with np.errstate(divide="ignore"):
            steps = np.log(self._path_steps())
        # The first word's own step is no part of it: the forward sum is over all ways to reach it.
        sums = np.concatenate([np.zeros((1, steps.shape[1])), np.cumsum(steps, axis=0)])
        factors: Floats = np.exp(sums[last + 1, rows] - sums[first + 1, rows])
        return factors * self.alpha[first, rows, self.path[first, rows]]

    def _path_steps(self) -> Floats:
        """(words, references) the factor that the path's step to each word has in the forward sum."""
        words, rows = np.indices(self.path.shape)
        steps = self.weights[words, rows, self.path] / self.scales
        steps[1:] *= self.chain.step_weights[self.path[:-1], self.path[1:]]
        # What lies beyond a reference's end is never asked for.
        return np.where(words < self.table.lengths, steps, 1.0)

    def _going_on(
        self, stretches: Sequence[Stretch], rows: Ints, last: Ints, reached: Floats
    ) -> Floats:
        """The probability that each stretch is as on the path, but goes on `inside` up to `until`."""
        until = np.array([-1 if one.until is None else one.until for one in stretches])
        inside = np.array([one.inside for one in stretches])
        going = np.where(until > last, reached, 0.0)
        before, place = self.path[last, rows], last + 1
        while (more := np.flatnonzero(place <= until)).size:
            at, row, label = place[more], rows[more], inside[more]
            step = self.chain.step_weights[before[more], label] * self.weights[at, row, label]
            going[more] *= step / self.scales[at, row]
            before[more] = label
            place[more] += 1
        ends = np.where(until > last, until, last)
        after: Floats = self.beta[ends, rows, inside]
        return going * after


def _forward(
    chain: Chain, table: Table, weights: Floats, allowed: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Alpha (words, references, labels); scales (words, references, 2) of all and of allowed labellings."""
    both = np.stack([weights, weights * allowed], axis=2)
    scales = np.ones(both.shape[:3])
    alpha = np.zeros_like(weights)
    reached = np.broadcast_to(chain.start_weights, both.shape[1:])
    for place in range(table.longest):
        live = table.live[place]
        reached = reached[:live]
        if place:
            # One product of two matrices, not one for each reference.
            flat = reached.reshape(-1, len(chain.start)) @ chain.step_weights
            reached = flat.reshape(live, 2, -1)
        reached = reached * both[place, :live]
        scales[place, :live] = total = reached.sum(axis=2)
        # Where nothing allowed is possible, the total is zero, and stays so.
        reached = reached / np.where(total > 0, total, 1.0)[:, :, None]
        alpha[place, :live] = reached[:, 0]
    return alpha, scales


def _backward(chain: Chain, table: Table, weights: Floats, scales: Floats) -> Floats:
    """Beta (words, references, labels)."""
    beta = np.ones_like(weights)
    for place in range(table.longest - 2, -1, -1):
        live = table.live[place + 1]
        after = weights[place + 1, :live] * beta[place + 1, :live]
        beta[place, :live] = after @ chain.step_weights.T / scales[place + 1, :live, None]
    return beta
