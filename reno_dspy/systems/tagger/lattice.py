"""The lattice of legal BIO labellings: its best path, for a whole batch at once.

Labels are in a fixed order: O, then B- and I- of each field by turns. I- follows B- or I- of its
own field and nothing else; every other label may follow any. So the best way to reach an I- label
is from one of two labels, and the best way to reach any other label is from the best label of all:
a step costs as much as there are labels, not their square.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def best_paths(scores: Sequence[NDArray[np.float32]]) -> list[NDArray[np.int64]]:
    """The legal label sequence of highest total score for each reference (Viterbi).

    `scores[i]` is (words, labels) of reference i, such as log-probabilities.
    """
    if not scores:
        return []
    lengths = np.array([len(one) for one in scores])
    longest, labels = int(lengths.max()), scores[0].shape[1]
    if not longest:
        return [np.zeros(0, dtype=np.int64) for _ in scores]
    table = np.zeros((len(scores), longest, labels), dtype=np.float32)
    for row, one in enumerate(scores):
        table[row, : len(one)] = one
    ends, back = _forward(table, lengths)
    paths = np.empty((len(scores), longest), dtype=np.int64)
    rows = np.arange(len(scores))
    paths[:, -1] = ends
    for place in range(longest - 1, 0, -1):
        paths[:, place - 1] = back[place, rows, paths[:, place]]
    return [path[:length] for path, length in zip(paths, lengths, strict=True)]


def _forward(
    table: NDArray[np.float32], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(rows,) best last labels, and (words, rows, labels) the best label before each."""
    rows, longest, labels = table.shape
    inside = np.arange(2, labels, 2)
    total = table[:, 0].copy()
    total[:, inside] = -np.inf
    # Beyond a reference's end every label is reached from itself, so that paths end where they
    # were.
    back = np.broadcast_to(np.arange(labels), (longest, rows, labels)).copy()
    for place in range(1, longest):
        before = np.repeat(total.argmax(axis=1)[:, None], labels, axis=1)
        began = total[:, inside - 1] > total[:, inside]
        before[:, inside] = np.where(began, inside - 1, inside)
        live = place < lengths
        back[place, live] = before[live]
        reached = np.take_along_axis(total, before, axis=1) + table[:, place]
        total = np.where(live[:, None], reached, total)
    return total.argmax(axis=1), back
