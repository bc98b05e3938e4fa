"""Calls in a child process: their results, their limits, and what is left after a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from reno_dspy.base.errors import JobError
from reno_dspy.base.limited import Limited, NotDone

Make = Callable[[str], Limited]


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[Limited] = []

    def limited(function: str) -> Limited:
        made.append(Limited(function, "counting", 512))
        return made[-1]

    yield limited
    for one in made:
        one.close()


def test_calls_give_what_the_function_returns(make: Make) -> None:
    join = make("posixpath:join")
    assert [join.call("ä", name, timeout_s=60) for name in ("b", "中")] == ["ä/b", "ä/中"]


def test_what_a_library_prints_is_no_answer(make: Make) -> None:
    assert make("builtins:print").call('{"result": 1}', timeout_s=60) is None
    # Nor what a program below Python writes to the same place.
    assert make("os:system").call("echo '{\"result\": 1}'", timeout_s=60) == 0


@pytest.mark.parametrize(
    ("function", "argument", "reason"),
    [
        ("time:sleep", 600, "counting took more than 1 s"),
        ("os:_exit", 3, r"counting crashed or passed its memory limit \(512 MB\)"),
        ("builtins:bytearray", 2**30, r"counting failed \(it needs more memory than its limit\)"),
        ("builtins:int", "one", r"counting failed \(ValueError: invalid literal"),
    ],
)
def test_a_call_that_fails_says_why(make: Make, function: str, argument: Any, reason: str) -> None:
    limited = make(function)
    for _ in range(2):
        with pytest.raises(NotDone, match=reason):
            limited.call(argument, timeout_s=1)


def test_the_next_call_after_a_crash_is_answered(make: Make) -> None:
    limited = make("builtins:eval")
    with pytest.raises(NotDone, match="crashed"):
        limited.call("__import__('os')._exit(1)", timeout_s=60)
    assert limited.call("1 + 1", timeout_s=60) == 2


def test_a_child_that_nobody_can_kill_any_more_ends_by_itself(make: Make) -> None:
    limit = "__import__('resource').getrlimit(__import__('resource').RLIMIT_CPU)[0]"
    assert make("builtins:eval").call(limit, timeout_s=5) <= 16


def test_a_function_that_is_not_there(make: Make) -> None:
    with pytest.raises(JobError, match="does not start"):
        make("reno_dspy.nowhere:nothing").call(timeout_s=1)
