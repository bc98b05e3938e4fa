"""The best path through the lattice is the best of all legal ones, for every row of a batch."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reno_dspy.systems.tagger.lattice import best_paths

NAMES = ("O", "B-year", "I-year", "B-source", "I-source")
Row = list[list[int]]
ROW = st.lists(st.lists(st.integers(-9, 9), min_size=5, max_size=5), max_size=4)


def is_legal(labels: tuple[str, ...]) -> bool:
    return all(
        not label.startswith("I-") or (before != "O" and before[2:] == label[2:])
        for before, label in zip(("O", *labels), labels, strict=False)
    )


@settings(max_examples=60)
@given(st.lists(ROW, max_size=4))
def test_the_best_path_is_the_best_of_all_legal_ones(batch: list[Row]) -> None:
    scores = [np.array(rows, dtype=np.float32).reshape(len(rows), 5) for rows in batch]
    for one, path in zip(scores, best_paths(scores), strict=True):
        found = tuple(NAMES[label] for label in path)
        assert len(found) == len(one)
        assert is_legal(found)

        def total(labels: tuple[str, ...], one: np.ndarray = one) -> float:
            return sum(float(one[i, NAMES.index(label)]) for i, label in enumerate(labels))

        every = itertools.product(NAMES, repeat=len(one))
        assert total(found) == max(map(total, filter(is_legal, every)))
