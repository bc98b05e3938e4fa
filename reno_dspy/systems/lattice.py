"""A lattice of label sequences: its best path, and the probability of any part of it.

A sequence's weight is the exponential of its labels' scores and of the transitions between them, as in a
linear-chain conditional random field; its probability is its weight over that of all sequences. The
forward-backward recursions (Rabiner 1989, with his scaling) give the sums. All references of a batch
take a step together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Kind = TypeVar("Kind", bound=np.generic)


@dataclass(frozen=True)
class Chain:
    """What joins neighbouring labels, as scores: `start` (labels,) and `steps` (labels, labels).

    `steps[a, b]` is for label b after label a. What is not allowed is minus infinity.
    """

    start: Floats
    steps: Floats

    @cached_property
    def start_weights(self) -> Floats:
        """The exponential of `start`."""
        return np.exp(self.start)

    @cached_property
    def step_weights(self) -> Floats:
        """The exponential of `steps`."""
        return np.exp(self.steps)

    def best_paths(self, scores: Sequence[NDArray[np.floating]]) -> list[Ints]:
        """The label sequence of highest total score for each reference (Viterbi).

        `scores[i]` is (words, labels) of reference i.
        """
        table = Table.of(scores)
        if not table.longest:
            return [np.zeros(0, dtype=np.int64) for _ in scores]
        total = table.scores[0] + self.start
        before = self.steps.T[None]
        back = np.zeros((table.longest, *total.shape), dtype=np.int64)
        for place in range(1, table.longest):
            live = table.live[place]
            reached = total[:live, None, :] + before
            back[place, :live] = best = reached.argmax(axis=2)
            found = np.take_along_axis(reached, best[:, :, None], axis=2)[:, :, 0]
            total[:live] = found + table.scores[place, :live]
        paths = np.zeros((table.longest, len(scores)), dtype=np.int64)
        ends = total.argmax(axis=1)
        for place in range(table.longest - 1, -1, -1):
            live, after = table.live[place], table.live[place + 1]
            paths[place, :live] = ends[:live]
            # A row's last place takes the best end, a place before it what the next one was reached from.
            if after:
                rows = np.arange(after)
                paths[place, :after] = back[place + 1, rows, paths[place + 1, :after]]
        return table.restore([paths[:n, row] for row, n in enumerate(table.lengths)])


@dataclass(frozen=True)
class Table:
    """Scores of a batch (words, references, labels), its longest references first.

    `order[row]` is the reference in a row, `lengths[row]` its words; `live[place]` rows have a word there.
    """

    scores: Floats
    order: Ints
    lengths: Ints
    live: Ints

    @classmethod
    def of(cls, scores: Sequence[NDArray[np.floating]]) -> Table:
        """The table of references with `scores` (words, labels)."""
        lengths = np.array([len(one) for one in scores], dtype=np.int64)
        order = np.argsort(-lengths, kind="stable")
        longest = int(lengths.max(initial=0))
        labels = scores[0].shape[1] if scores else 0
        table = np.zeros((longest, len(scores), labels))
        for row, reference in enumerate(order):
            table[: lengths[reference], row] = scores[reference]
        live = (lengths[None] > np.arange(longest + 1)[:, None]).sum(axis=1)
        return cls(table, order, lengths[order], live)

    @property
    def longest(self) -> int:
        """The words of the longest reference."""
        return len(self.scores)

    def rows(self, arrays: Sequence[NDArray[Kind]]) -> NDArray[Kind]:
        """(words, references, ...) of one array (words, ...) for each reference, zero beyond their ends."""
        shape = (self.longest, len(arrays), *arrays[0].shape[1:])
        laid = np.zeros(shape, dtype=arrays[0].dtype)
        for row, reference in enumerate(self.order):
            laid[: self.lengths[row], row] = arrays[reference]
        return laid

    def restore(self, rows: Sequence[Ints]) -> list[Ints]:
        """What rows have, in the order of the references."""
        at = np.argsort(self.order)
        return [rows[row] for row in at]
