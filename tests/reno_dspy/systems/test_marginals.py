"""Probabilities from the lattice are those of counting every labelling out."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reno_dspy.systems.lattice import Chain
from reno_dspy.systems.marginals import Marginals, Stretch
from reno_dspy.systems.tagger.labels import Labels

NAMES = ("O", "B-year", "I-year", "B-source", "I-source")
NUMBERS = range(len(NAMES))
SCORE = st.floats(-4, 4)
ROW = st.lists(st.lists(SCORE, min_size=5, max_size=5), max_size=4)
STEPS = st.lists(st.lists(SCORE, min_size=5, max_size=5), min_size=5, max_size=5)
# A tagger's lattice forbids steps, a CRF's weighs them.
CHAINS = st.just(Labels(NAMES).chain) | STEPS.map(
    lambda steps: Chain(np.array(steps[0]), np.array(steps))
)
Path = tuple[int, ...]


def weights(chain: Chain, scores: np.ndarray) -> dict[Path, float]:
    """The weight of every labelling of a reference."""

    def weight(path: Path) -> float:
        total = sum(float(scores[i, label]) for i, label in enumerate(path))
        total += float(chain.start[path[0]]) if path else 0.0
        return math.exp(total + sum(float(chain.steps[a, b]) for a, b in itertools.pairwise(path)))

    return {path: weight(path) for path in itertools.product(NUMBERS, repeat=len(scores))}


def arrays(batch: list[list[list[float]]]) -> list[np.ndarray]:
    return [np.array(rows).reshape(len(rows), len(NAMES)) for rows in batch]


@settings(max_examples=60, deadline=None)
@given(CHAINS, st.lists(ROW, min_size=1, max_size=3), st.data())
def test_probabilities_are_those_of_every_labelling_counted(
    chain: Chain, batch: list[list[list[float]]], data: st.DataObject
) -> None:
    scores = arrays(batch)
    paths = chain.best_paths(scores)
    shapes = [one.shape for one in scores]
    allowed = [
        np.array(data.draw(st.lists(st.booleans(), min_size=a * b, max_size=a * b)), dtype=bool)
        for a, b in shapes
    ]
    allowed = [one.reshape(shape) for one, shape in zip(allowed, shapes, strict=True)]
    sums = Marginals.of(chain, scores, paths, allowed)
    for number, (one, path, may, whole) in enumerate(
        zip(scores, paths, allowed, sums.whole(), strict=True)
    ):
        every = weights(chain, one)
        total = sum(every.values())
        assert every[tuple(path)] == pytest.approx(max(every.values()))
        agreeing = [p for p in every if all(may[i, label] for i, label in enumerate(p))]
        assert whole == pytest.approx(sum(every[p] for p in agreeing) / total, abs=1e-9)
        if len(one):
            first = data.draw(st.integers(0, len(one) - 1))
            last = data.draw(st.integers(first, len(one) - 1))
            until = (
                data.draw(st.none() | st.integers(last + 1, len(one) - 1))
                if last + 1 < len(one)
                else None
            )
            inside = data.draw(st.sampled_from(NUMBERS))
            stretch = Stretch(number, first, last, until, inside)
            found = sum(w for p, w in every.items() if is_of(stretch, p, tuple(path)))
            assert sums.of_stretches([stretch])[0] == pytest.approx(found / total, abs=1e-9)


def is_of(one: Stretch, labels: Path, path: Path) -> bool:
    """Whether a labelling has the stretch, and ends it."""
    words = slice(one.first, one.last + 1)
    after = () if one.until is None else labels[one.last + 1 : one.until + 1]
    return labels[words] == path[words] and not (after and set(after) == {one.inside})


@settings(max_examples=30, deadline=None)
@given(CHAINS, ROW.filter(len))
def test_the_probabilities_of_all_labellings_sum_to_one(
    chain: Chain, rows: list[list[float]]
) -> None:
    (scores,) = arrays([rows])
    every = [np.array(path) for path in itertools.product(NUMBERS, repeat=len(scores))]
    count = len(every)
    sums = Marginals.of(chain, [scores] * count, every, [np.ones(scores.shape, bool)] * count)
    found = sums.of_stretches([Stretch(i, 0, len(scores) - 1) for i in range(count)])
    assert sum(found) == pytest.approx(1)
    assert sums.whole() == pytest.approx([1] * count)


def test_long_references_keep_their_probability() -> None:
    """Without scaling, the sums over thousands of words would overflow."""
    chain = Labels(NAMES).chain
    scores = np.tile(np.array([60.0, 0.0, 0.0, 0.0, 0.0]), (3000, 1))
    sums = Marginals.of(chain, [scores], chain.best_paths([scores]), [scores > 0])
    assert sums.whole() == pytest.approx([1])
    assert sums.of_stretches([Stretch(0, 0, 2999)]) == pytest.approx([1])
