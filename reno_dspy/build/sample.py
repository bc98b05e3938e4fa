"""Balanced sampling (paper, section 2.4), derived in docs/sampling.md.

Weights p_i ~ exp(lambda . f_i) over binary features make a soft sample mu = sum_i p_i f_i. The paper's
loss on mu is not published; ours is the maximum-entropy dual, log Z(lambda) - lambda . target + L2,
which is convex with gradient mu - target and is solved by L-BFGS. Rows with the same features have the
same weight, so that everything is computed on cells of like rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from reno_dspy.build.target import PAPER_COMPOSITION, Draw

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Keeps lambda finite where the target asks for none (or all) of a kind; moves mu by about 1e-6.
L2 = 1e-6
# A drawn share that is further than this from the target is reported (one percentage point).
TOLERANCE = 0.01


@dataclass(frozen=True)
class Cells:
    """Rows grouped by their features.

    `names` are the d features, (group, value); `features` is (cells, d), binary; `of_row` gives each
    of the N rows its cell, `sizes` the rows in each cell; `target` is (d,), each group sums to 1.
    """

    names: tuple[tuple[str, str], ...]
    features: sparse.csr_array
    of_row: Ints
    sizes: Ints
    target: Floats


@dataclass(frozen=True)
class Composition:
    """One feature's shares: wanted, in the weighted pool, in the draw, and in the pool as it is."""

    group: str
    value: str
    target: float
    mu: float
    drawn: float
    pool: float


@dataclass(frozen=True)
class Sample:
    """Indices of the drawn rows in order, the shares side by side, and what could not be met."""

    chosen: tuple[int, ...]
    composition: tuple[Composition, ...]
    warnings: tuple[str, ...]
    squared_distance: float


def sample(
    rows: Sequence[Mapping[str, str]],
    n: int,
    seed: int,
    target: Mapping[str, Mapping[str, float]] = PAPER_COMPOSITION,
    draw: Draw = "auto",
) -> Sample:
    """Draw `n` rows (or all, if there are fewer) whose composition is near `target`.

    `rows` give each target group's value by name. `draw` "gumbel" is the paper's: without
    replacement by weights p, which in a small pool drifts from mu. "corrected" solves for inclusion
    probabilities instead, so that the draw itself meets the target. "auto" draws again, corrected,
    where the first draw is more than a percentage point off, and says so.
    """
    cells, warnings = group(rows, target)
    weights = solve(cells)
    mu = weights @ cells.features
    if n >= len(rows):
        chosen = np.arange(len(rows))
        warnings.append(f"All {len(rows):,} rows are taken ({n:,} asked for): nothing to balance.")
    else:
        chosen, notes = _draw(cells, weights, n, seed, draw)
        warnings += notes
    distance = float(np.sum((mu - cells.target) ** 2))
    composition = _composition(cells, mu, chosen)
    return Sample(tuple(int(i) for i in chosen), composition, tuple(warnings), distance)


def _draw(cells: Cells, weights: Floats, n: int, seed: int, draw: Draw) -> tuple[Ints, list[str]]:
    notes: list[str] = []
    if draw != "corrected":
        chosen = _gumbel_top(cells, weights, n, np.random.default_rng(seed))
        off = _off_target(cells, chosen)
        if draw == "gumbel" or not off:
            return chosen, [f"{text} (a `corrected` draw may come nearer)." for text in off]
        notes = [f"The draw by weights drifted, so it was corrected: {'; '.join(off)}."]
    chosen = _systematic(cells, solve_inclusion(cells, n), n, np.random.default_rng(seed))
    counts = cells.sizes @ cells.features
    for text, column in _off_target(cells, chosen).items():
        notes.append(f"{text}: the pool has {int(counts[column]):,} such rows.")
    return chosen, notes


def group(
    rows: Sequence[Mapping[str, str]], target: Mapping[str, Mapping[str, float]]
) -> tuple[Cells, list[str]]:
    """Cells of rows and a target that the pool can reach.

    A value that no row has is left out and its group normalized again (a warning says so); a value
    that the target does not name has target 0.
    """
    names: list[tuple[str, str]] = []
    shares: list[float] = []
    warnings: list[str] = []
    for name, wanted in target.items():
        present = sorted({row[name] for row in rows})
        reachable = {value: wanted.get(value, 0.0) for value in present}
        absent = [value for value, share in wanted.items() if share and value not in present]
        total = sum(reachable.values())
        if absent:
            warnings.append(f"{name}: no row is {', '.join(absent)}; the others share its part.")
        if total == 0:
            warnings.append(f"{name}: no row has a value of the target; not balanced.")
            continue
        names += [(name, value) for value in present]
        shares += [reachable[value] / total for value in present]
    index = {key: column for column, key in enumerate(names)}
    groups = sorted({name for name, _ in names}, key=list(target).index)
    codes = np.array([[index[g, row[g]] for g in groups] for row in rows], dtype=np.int64)
    unique, of_row, sizes = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    indptr = np.arange(len(unique) + 1) * unique.shape[1]
    data = np.ones(unique.size)
    features = sparse.csr_array((data, unique.ravel(), indptr), shape=(len(unique), len(names)))
    cells = Cells(tuple(names), features, of_row.ravel(), sizes, np.array(shares))
    return cells, warnings


def solve(cells: Cells) -> Floats:
    """The weight of each cell (all its rows together), by L-BFGS on the maximum-entropy dual."""
    log_sizes = np.log(cells.sizes)

    def loss(lam: Floats) -> tuple[float, Floats]:
        scores = cells.features @ lam + log_sizes
        log_z = logsumexp(scores)
        mu = np.exp(scores - log_z) @ cells.features
        value = log_z - lam @ cells.target + 0.5 * L2 * lam @ lam
        return float(value), mu - cells.target + L2 * lam

    scores = cells.features @ _minimize(loss, len(cells.names)) + log_sizes
    weights: Floats = np.exp(scores - logsumexp(scores))
    return weights


def solve_inclusion(cells: Cells, n: int) -> Floats:
    """The probability with which each row of a cell is drawn, n rows in all without replacement.

    pi = sigmoid(lambda . f + a): maximum entropy over subsets, with expected size n and expected
    composition `target`. Its dual, sum log(1 + exp(lambda . f + a)) - n (lambda . target + a), is
    convex as well.
    """
    share = n / cells.sizes.sum()
    start = math.log(share / (1 - share))

    def loss(parameters: Floats) -> tuple[float, Floats]:
        lam, a = parameters[:-1], start + parameters[-1]
        scores = cells.features @ lam + a
        included = cells.sizes * expit(scores)
        value = cells.sizes @ np.logaddexp(0, scores) - n * (lam @ cells.target + a)
        gradient = np.append(included @ cells.features - n * cells.target, included.sum() - n)
        penalty = 0.5 * L2 * float(parameters @ parameters)
        return float(value) / n + penalty, gradient / n + L2 * parameters

    parameters = _minimize(loss, len(cells.names) + 1)
    probabilities = expit(cells.features @ parameters[:-1] + start + parameters[-1])
    return _rescaled(probabilities, cells.sizes, n)


def _minimize(loss: Callable[[Floats], tuple[float, Floats]], size: int) -> Floats:
    options = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-15, "gtol": 1e-9}
    solution: Floats = minimize(
        loss, np.zeros(size), jac=True, method="L-BFGS-B", options=options
    ).x
    return solution


def _rescaled(probabilities: Floats, sizes: Ints, n: int) -> Floats:
    """The same probabilities with a sum of exactly n (L2 and stopping leave a small rest)."""
    for _ in range(50):
        total = float(sizes @ probabilities)
        if abs(total - n) < 1e-9:
            break
        free = probabilities < 1
        fixed = float(sizes[~free].sum())
        factor = (n - fixed) / max(total - fixed, 1e-300)
        probabilities = np.where(free, np.minimum(1, probabilities * factor), 1.0)
    return probabilities


def _gumbel_top(cells: Cells, weights: Floats, n: int, rng: np.random.Generator) -> Ints:
    """Take n rows without replacement by weight: the n largest log p + Gumbel noise."""
    with np.errstate(divide="ignore"):
        log_p = np.log(weights / cells.sizes)
    keys = log_p[cells.of_row] + rng.gumbel(size=len(cells.of_row))
    chosen: Ints = np.sort(np.argpartition(-keys, n)[:n])
    return chosen


def _systematic(cells: Cells, probabilities: Floats, n: int, rng: np.random.Generator) -> Ints:
    """Take n rows by inclusion probability; every cell gets its expected number, within one."""
    order = np.lexsort((rng.random(len(cells.of_row)), cells.of_row))
    steps = np.cumsum(probabilities[cells.of_row][order]) - rng.random()
    ticks = np.floor(steps).astype(np.int64)
    taken = np.diff(ticks, prepend=-1) > 0
    chosen: Ints = np.sort(order[taken])
    return chosen


def _composition(cells: Cells, mu: Floats, chosen: Ints) -> tuple[Composition, ...]:
    drawn = np.bincount(cells.of_row[chosen], minlength=len(cells.sizes)) @ cells.features
    pool = cells.sizes @ cells.features
    return tuple(
        Composition(
            group_name, value, float(cells.target[i]), float(mu[i]),
            float(drawn[i] / len(chosen)), float(pool[i] / cells.sizes.sum()),
        )
        for i, (group_name, value) in enumerate(cells.names)
    )  # fmt: skip


def _off_target(cells: Cells, chosen: Ints) -> dict[str, int]:
    """What is off by more than the tolerance, in words -> its column."""
    drawn = np.bincount(cells.of_row[chosen], minlength=len(cells.sizes)) @ cells.features
    shares = drawn / len(chosen)
    return {
        f"{name}={value} {shares[i]:.1%} drawn, {cells.target[i]:.1%} wanted": i
        for i, (name, value) in enumerate(cells.names)
        if abs(shares[i] - cells.target[i]) > TOLERANCE
    }
