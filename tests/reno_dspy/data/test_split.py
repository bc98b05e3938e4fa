"""Splits are made of citing articles, and no reference is on two sides."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from reno_dspy.data.split import first_of_each, side_of, split_articles

SHARES = {"train": 0.6, "dev": 0.15, "test": 0.25}


def test_the_same_letters_are_the_same_reference() -> None:
    assert first_of_each(["a b", "c", "A-B.", "c"]) == [True, True, False, False]
    references = ["Lumen, H. (2014). Lan-\nterns.", "LUMEN H 2014 Lanterns"]
    assert first_of_each(references) == [True, False]


@given(st.lists(st.sampled_from("abcdefghijkl"), min_size=1, max_size=60), st.integers(0, 9))
def test_every_article_is_in_one_split(articles: list[str], seed: int) -> None:
    assigned = split_articles(articles, SHARES, seed)
    assert set(assigned) == set(articles)
    assert assigned == split_articles(articles, SHARES, seed)


def test_shares_are_met() -> None:
    articles = [f"article-{i % 200}" for i in range(10_000)]
    assigned = split_articles(articles, SHARES, seed=3)
    counts = Counter(assigned[article] for article in articles)
    assert abs(counts["train"] / 10_000 - 0.6) < 0.02
    assert abs(counts["dev"] / 10_000 - 0.15) < 0.02


def test_few_articles_fill_all_splits() -> None:
    articles = [f"article-{i % 8}" for i in range(200)]
    assert set(split_articles(articles, SHARES, 0).values()) == set(SHARES)


@given(st.text(min_size=1))
def test_a_work_is_on_one_side_whatever_else_there_is(title: str) -> None:
    assert side_of(title, 0.05, 0.05) == side_of(title, 0.05, 0.05)
    # A larger share for dev moves no work out of test.
    if side_of(title, 0.05, 0.05) == "test":
        assert side_of(title, 0.2, 0.05) == "test"


def test_shares_of_hashed_sides_are_met() -> None:
    sides = Counter(side_of(f"title {i}", 0.1, 0.05) for i in range(4000))
    assert abs(sides["test"] - 200) < 60
    assert abs(sides["dev"] - 400) < 80
