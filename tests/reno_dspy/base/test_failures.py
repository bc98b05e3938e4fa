"""One rule for giving up: a share of all items, or twenty failures in a row."""

import pytest

from reno_dspy.base.errors import JobError
from reno_dspy.base.failures import FailureBudget


def count(budget: FailureBudget, answers: str) -> int | None:
    """Count answers ("." is one, "x" a failure) until there is a verdict; after how many it came."""
    for number, answer in enumerate(answers, start=1):
        budget.count(None if answer == "." else f"HTTP 500, answer {number}")
        if budget.verdict is not None:
            return number
    return None


@pytest.mark.parametrize(
    ("share", "total", "answers", "stops_at"),
    [
        (0.2, 100, "x." * 100, 41),  # the 21st failure
        (0.2, 100, "." + "x" * 60, 21),  # the 20th in a row
        (0.2, 10_000, "." * 500 + "x" * 2000, 520),
        (0.2, 3, "xx", 2),  # one of three alone is no share
        (0.2, 3, "x..", None),
        (0.0, 100, "..x", 3),
        (1.0, 100, "x" * 100, None),
        (0.5, 24, "x" * 19 + ".", 13),
    ],
)
def test_when_a_job_stops(share: float, total: int, answers: str, stops_at: int | None) -> None:
    assert count(FailureBudget(share, total), answers) == stops_at


def test_the_verdict_keeps_the_reason_of_the_failure_that_it_fell_on() -> None:
    budget = FailureBudget(0.2, 10, "articles")
    budget.check()
    count(budget, "..xxx")
    verdict = budget.verdict
    for error in (None, "another reason"):
        budget.count(error)
    assert budget.verdict is verdict
    with pytest.raises(JobError, match=r"3 of 10 articles failed.* 0\.2 allows.*answer 5\n"):
        budget.check()


def test_a_total_may_grow() -> None:
    budget = FailureBudget(0.2, 0)
    budget.total = 50
    assert count(budget, "x." * 10) is None
    assert count(budget, "x") == 1
