"""Finding lists under a limit: the same lists as without one, and a reason where it is passed."""

from __future__ import annotations

import pytest

from reno_dspy.base.limited import NotDone
from reno_dspy.build.references.find import extract, find_list, verify
from reno_dspy.build.references.finder import Finder
from reno_dspy.build.steps import extract_by_rules

TEXT = "\n".join(
    [
        "References",
        *(f"[{i}] Veldt A. On glass bees \ud800 {i}. J Fict. 199{i}." for i in range(1, 7)),
    ]
)


def test_a_limit_changes_no_list() -> None:
    with Finder() as finder:
        assert finder.find_list(TEXT) == find_list(TEXT)
        assert finder.extract(TEXT) == verify(extract(TEXT), TEXT)


def test_a_text_that_takes_too_long_is_an_article_with_that_error() -> None:
    long = "\n".join([TEXT] * 5_000)
    with Finder(timeout_s=0) as finder, pytest.raises(NotDone, match="took more than 0 s"):
        finder.find_list(long)
    record = {"id": "a", "markdown": long, "error": None}
    found = extract_by_rules(record, timeout_s=0, memory_mb=512)
    assert found["error"] == "finding references took more than 0 s"
    assert found["references"] == []
