"""Balanced sampling: convex, exact, without replacement; and the split that follows it."""

import random

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import logsumexp

from reno_dspy.build.sample import Cells, group, sample, solve, solve_inclusion
from reno_dspy.build.target import PAPER_COMPOSITION

TARGET = {"language": {"en": 50, "pt": 30, "de": 20}, "has_pid": {"true": 60, "false": 40}}


def pool(n: int, seed: int = 1) -> list[dict[str, str]]:
    rng = random.Random(seed)
    return [
        {
            "language": rng.choices(["en", "pt", "de"], [80, 15, 5])[0],
            "has_pid": rng.choices(["true", "false"], [30, 70])[0],
        }
        for _ in range(n)
    ]


def shares(rows: list[dict[str, str]], chosen: tuple[int, ...]) -> dict[tuple[str, str], float]:
    return {
        (name, value): sum(rows[i][name] == value for i in chosen) / len(chosen)
        for name in TARGET
        for value in TARGET[name]
    }


def test_mu_meets_the_target() -> None:
    cells, _ = group(pool(5000), TARGET)
    mu = solve(cells) @ cells.features
    assert np.abs(mu - cells.target).max() < 1e-4


def test_weights_are_those_of_the_paper() -> None:
    """Rows of like features weigh alike, and log weights are linear in the features."""
    rows = pool(400)
    cells, _ = group(rows, TARGET)
    log_p = np.log(solve(cells) / cells.sizes)
    lam, *_ = np.linalg.lstsq(cells.features.toarray(), log_p - log_p.mean(), rcond=None)
    fitted = cells.features @ lam
    assert np.allclose(fitted - fitted.mean(), log_p - log_p.mean(), atol=1e-8)


def test_the_gradient_is_mu_minus_target() -> None:
    cells, _ = group(pool(200), TARGET)

    def loss(lam: np.ndarray) -> float:
        scores = cells.features @ lam + np.log(cells.sizes)
        return float(logsumexp(scores) - lam @ cells.target)

    def gradient(lam: np.ndarray) -> np.ndarray:
        scores = cells.features @ lam + np.log(cells.sizes)
        return np.exp(scores - logsumexp(scores)) @ cells.features - cells.target

    at = np.random.default_rng(0).normal(size=len(cells.names))
    assert check_grad(loss, gradient, at) < 1e-5


@pytest.mark.parametrize("draw", ["auto", "gumbel", "corrected"])
def test_drawn_without_replacement_and_by_seed(draw: str) -> None:
    rows = pool(3000)
    one, again, other = (sample(rows, 500, seed, TARGET, draw) for seed in (1, 1, 2))  # type: ignore[arg-type]
    assert len(set(one.chosen)) == 500
    assert one.chosen == again.chosen
    assert one.chosen != other.chosen


def test_a_corrected_draw_meets_the_target_where_the_plain_one_drifts() -> None:
    rows = pool(3000)
    plain = sample(rows, 600, 0, TARGET, "gumbel")
    corrected = sample(rows, 600, 0, TARGET, "corrected")
    wanted = {(c.group, c.value): c.target for c in corrected.composition}

    def off(chosen: tuple[int, ...]) -> float:
        return max(abs(share - wanted[key]) for key, share in shares(rows, chosen).items())

    assert off(corrected.chosen) < 0.01 < off(plain.chosen)
    assert any("de" in text for text in plain.warnings)
    automatic = sample(rows, 600, 0, TARGET, "auto")
    assert automatic.chosen == corrected.chosen
    assert "was corrected" in automatic.warnings[0]


def test_inclusion_probabilities_sum_to_n() -> None:
    cells, _ = group(pool(3000), TARGET)
    probabilities = solve_inclusion(cells, 600)
    assert probabilities.max() <= 1
    assert cells.sizes @ probabilities == pytest.approx(600)


def test_what_the_pool_lacks_is_said() -> None:
    rows = [{"language": "en", "has_pid": "true"}] * 90 + [
        {"language": "pt", "has_pid": "true"}
    ] * 5
    drawn = sample(rows, 50, 0, TARGET)
    text = " ".join(drawn.warnings)
    assert "language: no row is de" in text
    assert "the pool has 5 such rows" in text
    assert sum(rows[i]["language"] == "pt" for i in drawn.chosen) == 5


def test_values_outside_the_target_are_avoided() -> None:
    rows = pool(900) + [{"language": "xx", "has_pid": "true"}] * 100
    drawn = sample(rows, 200, 0, TARGET)
    assert not any(rows[i]["language"] == "xx" for i in drawn.chosen)


def test_a_feature_that_nobody_has_is_not_balanced() -> None:
    rows = [row | {"source": "pmc"} for row in pool(100)]
    drawn = sample(rows, 50, 0, TARGET | {"source": {"scielo": 1}})
    assert any("source" in text and "not balanced" in text for text in drawn.warnings)


def test_a_small_pool_is_taken_whole() -> None:
    drawn = sample(pool(20), 100, 0, TARGET)
    assert drawn.chosen == tuple(range(20))
    assert "All 20 rows are taken" in drawn.warnings[-1]


def test_the_papers_composition_is_normalized() -> None:
    rows = [
        {
            "has_pid": "true", "citing_is_preprint": "false", "language": "en",
            "publication_type": "journal", "source": source,
        }
        for source in PAPER_COMPOSITION["source"]
    ]  # fmt: skip
    cells: Cells = group(rows, PAPER_COMPOSITION)[0]
    platforms = [i for i, (name, _) in enumerate(cells.names) if name == "source"]
    assert cells.target[platforms].sum() == pytest.approx(1)
