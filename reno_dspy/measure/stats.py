"""Uncertainty of a score: bootstrap intervals over citing articles, paired tests, reviewed samples.

References of one article share its style, its journal and its PDF, so single references are not
independent: every resampling here draws citing articles (clusters), never references. Inputs are
counts per citation; a score is a ratio of their sums (paper, section 3). Pure numpy, deterministic in
`seed`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Verdict = Literal["better", "worse", "noise"]

# With k citing articles a paired permutation test cannot give a p below 2 / 2^k: 0.0625 for five.
FEWEST_ARTICLES = 6
# Resamples are drawn in blocks of at most this many cells, so that 10,000 clusters fit in memory.
_BLOCK_CELLS = 2_000_000


@dataclass(frozen=True)
class Interval:
    """An interval of a ratio, both ends in 0..1."""

    low: float
    high: float


@dataclass(frozen=True)
class Paired:
    """The difference between two systems on the same citations: `a` minus `b`.

    `difference`, `low` and `high` are in units of the ratio (0.03 = 3 points); `p` is two-sided.
    `articles` is the number of citing articles, None in a result stored before it was kept.
    """

    difference: float
    low: float
    high: float
    p: float
    verdict: Verdict
    articles: int | None = None

    @property
    def too_few_articles(self) -> bool:
        """Whether the interval excludes 0, but no p could be significant with so few articles."""
        few = self.articles is not None and self.articles < FEWEST_ARTICLES
        return self.verdict == "noise" and few and (self.low > 0 or self.high < 0)


@dataclass(frozen=True)
class Reviewed:
    """The review of one field's values: how many were right, wrong, looked at, and accepted."""

    right: int
    wrong: int
    reviewed: int
    accepted: int


def ratio_interval(
    numerator: ArrayLike,
    denominator: ArrayLike,
    clusters: Sequence[str | None],
    seed: int = 0,
    draws: int = 2000,
    level: float = 0.95,
) -> Interval | None:
    """The interval of sum(numerator)/sum(denominator), both of shape (citations,).

    `clusters` names each citation's citing article; None is a cluster of its own. None where fewer
    than two clusters have anything to count (0/0 included). Percentile bootstrap (Efron 1979).
    """
    columns = (np.reshape(numerator, (-1, 1)), np.reshape(denominator, (-1, 1)))
    return ratio_intervals(*columns, clusters, seed=seed, draws=draws, level=level)[0]


def ratio_intervals(
    numerators: ArrayLike,
    denominators: ArrayLike,
    clusters: Sequence[str | None],
    seed: int = 0,
    draws: int = 2000,
    level: float = 0.95,
) -> list[Interval | None]:
    """`ratio_interval` of every column of (citations, columns) arrays, from the same resamples."""
    sums = _sums_by_cluster(clusters, numerators, denominators)
    count = sums.shape[2]
    if sums.shape[1] < 2:
        return [None] * count
    totals = np.concatenate(list(_resampled(sums, seed, draws)), axis=1)
    low, high = _quantiles(_ratio(totals[0], totals[1]), level)
    known = (sums[1] > 0).sum(axis=0) >= 2
    return [Interval(float(low[i]), float(high[i])) if known[i] else None for i in range(count)]


def paired_difference(
    num_a: ArrayLike,
    den_a: ArrayLike,
    num_b: ArrayLike,
    den_b: ArrayLike,
    clusters: Sequence[str | None],
    seed: int = 0,
    draws: int = 2000,
    level: float = 0.95,
) -> Paired | None:
    """The ratio of system `a` minus that of `b` on the same citations, in the same order.

    All arrays have the shape (citations,). The interval is a bootstrap over citing articles. The p
    is of a permutation test that swaps the two systems' counts within whole articles: under the null
    the systems are exchangeable there, which needs no variance estimate and holds for precision too,
    where the denominators differ. It is exact (all swaps enumerated) while that takes at most `draws`
    permutations. `a` is "better" or "worse" only where test and interval agree at `level`, else the
    difference is "noise". None where there is a single cluster or either ratio is 0/0.
    """
    a, b = (
        [np.reshape(counts, (-1, 1)) for counts in system]
        for system in ((num_a, den_a), (num_b, den_b))
    )
    return paired_differences(a[0], a[1], b[0], b[1], clusters, seed, draws, level)[0]


def paired_differences(
    num_a: ArrayLike,
    den_a: ArrayLike,
    num_b: ArrayLike,
    den_b: ArrayLike,
    clusters: Sequence[str | None],
    seed: int = 0,
    draws: int = 2000,
    level: float = 0.95,
) -> list[Paired | None]:
    """`paired_difference` of every column of (citations, columns) arrays, from the same resamples."""
    sums = _sums_by_cluster(clusters, num_a, den_a, num_b, den_b)
    totals, articles = sums.sum(axis=1), sums.shape[1]
    known = (totals[1] > 0) & (totals[3] > 0)
    if articles < 2:
        return [None] * len(known)
    differences = _ratio(totals[0], totals[1]) - _ratio(totals[2], totals[3])
    resampled = np.concatenate(list(_resampled(sums, seed, draws)), axis=1)
    gaps = _ratio(resampled[0], resampled[1]) - _ratio(resampled[2], resampled[3])
    lows, highs = _quantiles(gaps, level)
    p = _permutation_p(sums, np.abs(differences), seed, draws)
    found = zip(differences, lows, highs, p, known, strict=True)
    return [
        _paired(float(one), float(low), float(high), float(share), articles, level) if ok else None
        for one, low, high, share, ok in found
    ]


def _paired(
    difference: float, low: float, high: float, p: float, articles: int, level: float
) -> Paired:
    sure = p < 1 - level and (low > 0 or high < 0)
    verdict: Verdict = "noise" if not sure else ("better" if difference > 0 else "worse")
    return Paired(difference, low, high, p, verdict, articles)


def in_words(paired: Paired | None) -> str:
    """A difference's verdict in plain words; for one that too few articles could show, just that."""
    if paired is None:
        return "not known"
    if paired.too_few_articles:
        return f"too few articles to tell ({paired.articles})"
    return "no difference beyond noise" if paired.verdict == "noise" else paired.verdict


def corrected_precision(
    fields: Sequence[Reviewed], seed: int = 0, draws: int = 20_000, level: float = 0.95
) -> tuple[float, Interval] | None:
    """Precision once a human has judged a sample of the "wrong" values of each field (stratum).

    Of a field's wrong values the share accepted in its sample counts as right. The interval is the
    posterior predictive one (Jeffreys prior; beta-binomial for the values not looked at), so that it
    closes when all are reviewed. None where nothing was predicted or a field with wrong values has
    no review.
    """
    predicted = sum(field.right + field.wrong for field in fields)
    if predicted == 0 or any(field.wrong and not field.reviewed for field in fields):
        return None
    random = np.random.default_rng(seed)
    right, drawn = 0.0, np.zeros(draws)
    for field in fields:
        refused = field.reviewed - field.accepted
        unseen = field.wrong - field.reviewed
        share = random.beta(field.accepted + 0.5, refused + 0.5, draws)
        drawn += field.right + field.accepted + random.binomial(unseen, share)
        right += field.right
        right += field.wrong * field.accepted / field.reviewed if field.reviewed else 0
    low, high = _quantiles(drawn / predicted, level)
    return right / predicted, Interval(float(low), float(high))


def _sums_by_cluster(clusters: Sequence[str | None], *arrays: ArrayLike) -> Floats:
    """Arrays of shape (citations, columns) -> their sums, (arrays, clusters, columns)."""
    stacked = np.stack([np.asarray(array, dtype=np.float64) for array in arrays])
    if stacked.shape[1] != len(clusters):
        raise ValueError(f"{stacked.shape[1]} citations but {len(clusters)} cluster names")
    numbers: dict[str | int, int] = {}
    index = [
        numbers.setdefault(i if name is None else name, len(numbers))
        for i, name in enumerate(clusters)
    ]
    sums = np.zeros((stacked.shape[0], len(numbers), stacked.shape[2]))
    for row, array in zip(sums, stacked, strict=True):
        np.add.at(row, index, array)
    return sums


def _resampled(sums: Floats, seed: int, draws: int) -> Iterator[Floats]:
    """Totals of `draws` samples of clusters with replacement: blocks of (arrays, draws, columns)."""
    random = np.random.default_rng(seed)
    count = sums.shape[1]
    for size in _blocks(draws, count):
        picks = random.integers(count, size=(size, count))
        picks += np.arange(size)[:, None] * count
        weights = np.bincount(picks.ravel(), minlength=size * count).reshape(size, count)
        yield weights.astype(np.float64) @ sums


def _permutation_p(sums: Floats, observed: Floats, seed: int, draws: int) -> Floats:
    """By column, the share of swaps that put at least `observed` between a and b.

    `sums` is (4, clusters, columns).
    """
    exact = 2 ** sums.shape[1] <= draws
    swaps = _all_swaps(sums.shape[1]) if exact else _random_swaps(sums.shape[1], seed, draws)
    num_a, den_a, num_b, den_b = sums.sum(axis=1)
    total, hits = 0, np.zeros(sums.shape[2])
    for swap in swaps:
        moved_num, moved_den = swap @ (sums[2] - sums[0]), swap @ (sums[3] - sums[1])
        gaps = _ratio(num_a + moved_num, den_a + moved_den)
        gaps -= _ratio(num_b - moved_num, den_b - moved_den)
        total += len(gaps)
        hits += (np.abs(gaps) >= observed - 1e-12).sum(axis=0)
    return hits / total if exact else (hits + 1) / (total + 1)


def _all_swaps(clusters: int) -> Iterator[Floats]:
    yield ((np.arange(2**clusters)[:, None] >> np.arange(clusters)) & 1).astype(np.float64)


def _random_swaps(clusters: int, seed: int, draws: int) -> Iterator[Floats]:
    random = np.random.default_rng(seed)
    for size in _blocks(draws, clusters):
        yield random.integers(2, size=(size, clusters)).astype(np.float64)


def _blocks(draws: int, clusters: int) -> Iterator[int]:
    size = max(1, _BLOCK_CELLS // clusters)
    for start in range(0, draws, size):
        yield min(size, draws - start)


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Their quotient; nan for 0/0, which quantiles leave out."""
    empty = np.full_like(numerator, np.nan)
    return np.divide(numerator, denominator, out=empty, where=denominator > 0)


def _quantiles(draws: Floats, level: float) -> tuple[Floats, Floats]:
    """The two ends of the central `level` of `draws`, over the first axis, nan left out."""
    tail = (1 - level) / 2
    ordered = np.sort(draws, axis=0)
    known = (~np.isnan(ordered)).sum(axis=0)
    return _at(ordered, known, tail), _at(ordered, known, 1 - tail)


def _at(ordered: Floats, known: NDArray[np.int64], share: float) -> Floats:
    position = np.floor(share * np.maximum(known - 1, 0) + 0.5).astype(np.int64)
    taken: Floats = np.take_along_axis(ordered, np.expand_dims(position, 0), axis=0)[0]
    return taken
