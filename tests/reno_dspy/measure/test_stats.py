"""Intervals and tests on counts whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reno_dspy.measure.stats import (
    Interval,
    Reviewed,
    corrected_precision,
    paired_difference,
    ratio_interval,
    ratio_intervals,
)

CITATIONS = 1_000


def _articles(count: int, per_article: int) -> list[str]:
    return [f"article-{i // per_article}" for i in range(count)]


def _answers(seed: int, recall_a: float, recall_b: float) -> tuple[np.ndarray, ...]:
    """Matched counts of two systems on 1,000 citations with 1 to 5 gold values each.

    Both find what is easy: three quarters of the misses of the weaker one are hard for both.
    """
    random = np.random.default_rng(seed)
    gold = random.integers(1, 6, CITATIONS)
    shared = random.random((CITATIONS, 5))
    own = random.random((2, CITATIONS, 5))
    common = random.random((CITATIONS, 5)) < 0.75
    asked = np.arange(5) < gold[:, None]
    matched = [
        ((np.where(common, shared, own[i]) < recall) & asked).sum(axis=1)
        for i, recall in enumerate((recall_a, recall_b))
    ]
    return matched[0], matched[1], gold


def test_no_difference_is_called_noise() -> None:
    clusters = _articles(CITATIONS, 10)
    verdicts = []
    for seed in range(40):
        a, b, gold = _answers(seed, 0.92, 0.92)
        paired = paired_difference(a, gold, b, gold, clusters, draws=1000)
        assert paired is not None
        verdicts.append(paired.verdict)
    assert (
        verdicts.count("noise") >= 36
    )  # at level 0.95, 2 of 40 are expected to be called otherwise


def test_three_points_on_a_thousand_citations_are_found() -> None:
    clusters = _articles(CITATIONS, 10)
    for seed in range(10):
        a, b, gold = _answers(seed, 0.94, 0.91)
        paired = paired_difference(a, gold, b, gold, clusters)
        assert paired is not None
        assert paired.verdict == "better"
        assert paired.low < 0.03 < paired.high
        mirrored = paired_difference(b, gold, a, gold, clusters)
        assert mirrored is not None
        assert mirrored.verdict == "worse"
        assert mirrored.difference == pytest.approx(-paired.difference)


def test_equal_answers_differ_by_nothing() -> None:
    right = np.ones(50)
    paired = paired_difference(right, right, right, right, _articles(50, 5))
    assert paired is not None
    assert (paired.difference, paired.low, paired.high, paired.p) == (0, 0, 0, 1)
    assert paired.verdict == "noise"


def test_precision_with_differing_denominators() -> None:
    matched, few, many = np.full(200, 3), np.full(200, 3), np.full(200, 4)
    paired = paired_difference(matched, few, matched, many, [None] * 200)
    assert paired is not None
    assert paired.difference == pytest.approx(0.25)
    assert paired.verdict == "better"


def test_p_is_exact_for_few_articles() -> None:
    one, none = np.ones(4), np.zeros(4)
    paired = paired_difference(one, one, none, one, ["a", "b", "c", "d"])
    assert paired is not None
    assert paired.p == 2 / 2**4  # only "swap all" and "swap none" are as extreme
    assert paired.verdict == "noise"  # four articles cannot say more


def test_articles_count_not_references() -> None:
    """A hundred copies of three articles' references make nothing surer."""
    few = ratio_interval([1, 0, 1], [1, 1, 1], ["a", "b", "c"])
    many = ratio_interval([1, 0, 1] * 100, [1] * 300, ["a", "b", "c"] * 100)
    assert few == many
    alone = ratio_interval([1, 0, 1] * 100, [1] * 300, [None] * 300)
    assert few is not None
    assert many is not None
    assert alone is not None
    assert alone.high - alone.low < many.high - many.low


def test_no_interval_from_a_single_cluster_or_from_nothing() -> None:
    assert ratio_interval([1, 2], [2, 2], ["same", "same"]) is None
    assert ratio_interval([], [], []) is None
    assert ratio_interval([0, 0], [0, 0], ["a", "b"]) is None
    assert ratio_interval([1, 0], [2, 0], ["a", "b"]) is None  # one article has all that is counted
    assert paired_difference([1], [2], [2], [2], ["a"]) is None
    assert paired_difference([0, 0], [0, 0], [1, 1], [1, 1], ["a", "b"]) is None


def test_same_seed_same_interval() -> None:
    a, b, gold = _answers(0, 0.9, 0.88)
    clusters = _articles(CITATIONS, 7)
    assert ratio_interval(a, gold, clusters) == ratio_interval(a, gold, clusters)
    assert ratio_interval(a, gold, clusters) != ratio_interval(a, gold, clusters, seed=1)
    first = paired_difference(a, gold, b, gold, clusters)
    assert first == paired_difference(a, gold, b, gold, clusters)


def test_columns_are_scored_as_if_alone() -> None:
    a, b, gold = _answers(3, 0.9, 0.5)
    clusters = _articles(CITATIONS, 7)
    both = ratio_intervals(np.stack([a, b], axis=1), np.stack([gold, gold], axis=1), clusters)
    assert both == [ratio_interval(a, gold, clusters), ratio_interval(b, gold, clusters)]


def test_interval_agrees_with_the_binomial_one() -> None:
    """For independent 0/1 outcomes the bootstrap must come near the textbook interval."""
    hits = np.arange(400) < 320
    interval = ratio_interval(hits, np.ones(400), [None] * 400)
    assert interval is not None
    half = 1.96 * (0.8 * 0.2 / 400) ** 0.5
    assert interval.low == pytest.approx(0.8 - half, abs=0.006)
    assert interval.high == pytest.approx(0.8 + half, abs=0.006)


def test_a_cluster_name_is_needed_for_every_citation() -> None:
    with pytest.raises(ValueError, match="2 citations but 1 cluster"):
        ratio_interval([1, 1], [1, 1], ["a"])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from(["a", "b", "c", None])),
        max_size=20,
    )
)
def test_ends_are_shares_in_order(rows: list[tuple[int, int, str | None]]) -> None:
    numerator = [min(num, den) for num, den, _ in rows]
    interval = ratio_interval(
        numerator, [den for _, den, _ in rows], [c for *_, c in rows], draws=50
    )
    if interval is not None:
        assert 0 <= interval.low <= interval.high <= 1


def test_corrected_precision_counts_accepted_values_as_right() -> None:
    """The paper's year field: precision 97 %, 92 % of what was wrong is missing gold."""
    corrected = corrected_precision([Reviewed(right=970, wrong=30, reviewed=25, accepted=23)])
    assert corrected is not None
    value, interval = corrected
    assert value == pytest.approx(0.9976)
    assert 0.97 < interval.low <= value <= interval.high <= 1


def test_a_whole_review_leaves_no_uncertainty() -> None:
    corrected = corrected_precision([Reviewed(90, 10, reviewed=10, accepted=4)])
    assert corrected == (0.94, Interval(0.94, 0.94))


def test_corrected_precision_needs_a_review_of_every_field() -> None:
    reviewed, not_reviewed = Reviewed(9, 1, 1, 1), Reviewed(9, 1, 0, 0)
    assert corrected_precision([reviewed, not_reviewed]) is None
    assert corrected_precision([Reviewed(0, 0, 0, 0)]) is None
    all_right = Reviewed(5, 0, 0, 0)
    assert corrected_precision([all_right]) == (1.0, Interval(1.0, 1.0))
