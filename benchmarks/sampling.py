"""Solving for the weights: L-BFGS on the dual against the paper's 1,963 gradient steps at 1e-3.

    python benchmarks/sampling.py [--rows 161625]

The paper's loss on mu is not published; here it is the squared distance to the target, minimized by
gradient descent as it says (and, more favourably, by Adam), on all rows. Compared by the squared
distance of mu to the target, and by CPU seconds. Then the draws: their largest error.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from reno_dspy.build.sample import Cells, Floats, group, sample, solve
from reno_dspy.build.target import PAPER_COMPOSITION

STEPS, RATE = 1963, 1e-3
POOL = {
    "has_pid": {"true": 35, "false": 65},
    "citing_is_preprint": {"true": 6, "false": 94},
    "language": {
        "en": 60,
        "pt": 20,
        "es": 15,
        "fr": 1.9,
        "de": 1.6,
        "it": 0.7,
        "ru": 0.5,
        "zh": 0.3,
    },
    "publication_type": {"journal": 67, "book": 20, "webpage": 5, "thesis": 3, "confproc": 5},
    "source": {"scielo": 60, "redalyc": 28, "ore": 5, "pkp": 7},
}


def synthetic(n: int) -> list[dict[str, str]]:
    rng = np.random.default_rng(161_625)  # not the seed of the draw
    columns = []
    for shares in POOL.values():
        weights = np.array(list(shares.values()))
        columns.append(rng.choice(list(shares), n, p=weights / weights.sum()).tolist())
    return [dict(zip(POOL, values, strict=True)) for values in zip(*columns, strict=True)]


def descend(cells: Cells, adam: bool) -> Floats:
    """Mu after the paper's steps; every row is its own softmax term."""
    features = cells.features[cells.of_row]
    lam = np.zeros(len(cells.names))
    first, second = np.zeros_like(lam), np.zeros_like(lam)
    for step in range(1, STEPS + 1):
        scores = features @ lam
        p = np.exp(scores - scores.max())
        p /= p.sum()
        mu = p @ features
        gap = 2 * (mu - cells.target)
        gradient = (p * (features @ gap)) @ features - mu * (mu @ gap)
        if adam:
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            gradient = (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        lam -= RATE * gradient
    scores = features @ lam
    p = np.exp(scores - scores.max())
    return (p / p.sum()) @ features


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=161_625)
    arguments = parser.parse_args()
    rows = synthetic(arguments.rows)
    began = time.process_time()
    cells, _ = group(rows, PAPER_COMPOSITION)
    grouping = time.process_time() - began
    began = time.process_time()
    mu = solve(cells) @ cells.features
    ours = time.process_time() - began
    print(f"{len(rows):,} rows in {len(cells.sizes)} cells, grouped in {grouping:.2f} s")
    print(f"L-BFGS   {ours:8.2f} s  squared distance {np.sum((mu - cells.target) ** 2):.2e}")
    for name, adam in (("descent", False), ("Adam", True)):
        began = time.process_time()
        mu = descend(cells, adam)
        seconds = time.process_time() - began
        distance = np.sum((mu - cells.target) ** 2)
        print(
            f"{name:8} {seconds:8.2f} s  squared distance {distance:.2e}  ({seconds / ours:.0f} times)"
        )
    for draw in ("gumbel", "corrected"):
        drawn = sample(rows, 10_000, 0, PAPER_COMPOSITION, draw)
        worst = max(abs(part.drawn - part.target) for part in drawn.composition)
        print(f"draw {draw:9}: largest error {100 * worst:.2f} percentage points of 10,000 rows")


if __name__ == "__main__":
    main()
