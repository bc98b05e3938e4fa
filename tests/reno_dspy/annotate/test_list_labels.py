"""Labels of numbered lists: told from their references where numbers run in order, and only there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reno_dspy.annotate.list_labels import split_labels


@pytest.mark.parametrize("style", ["{}. ", "[{}] ", "({}) ", "{}) ", "{}\t", "{}.", "[{}]"])
@pytest.mark.parametrize("first", [1, 9, 99, 312])
def test_a_list_in_order(style: str, first: int) -> None:
    numbers = range(first, first + 3)
    found = list(split_labels(f"{style.format(n)}Ito K. Foxes. 2001." for n in numbers))
    assert [label.strip() for label, _ in found] == [style.format(n).strip() for n in numbers]
    assert {text for _, text in found} == {"Ito K. Foxes. 2001."}


@pytest.mark.parametrize(
    "references",
    [
        ["1. Ito K. Foxes."],
        ["1. Ito K.", "3. Oe H.", "2. Abe S."],
        ["1. Ito K.", "[2] Oe H."],
        ["2009. Foxes.", "2010. Geese."],
        ["(2009) Foxes.", "(2010) Geese."],
        ["3.14 is a number.", "4.2 too."],
        ["1.", "2."],
        ["1 2 3", "4"],
    ],
)
def test_numbers_that_are_no_labels(references: list[str]) -> None:
    assert [label for label, _ in split_labels(references)] == [""] * len(references)


def test_a_gap_starts_anew_and_long_lists_reach_the_years() -> None:
    gap = ["1. A.", "2. B.", "4. D.", "5. E.", "7. G.", "H."]
    assert [label for label, _ in split_labels(gap)] == ["1. ", "2. ", "4. ", "5. ", "", ""]
    many = [f"{n}. Ito K." for n in range(1, 3000)]
    assert all(label for label, _ in split_labels(many))


@given(st.lists(st.text() | st.from_regex(r"\A[\[(]?[1-4][\].)]?\s?\w{,2}\Z")))
def test_the_two_parts_are_the_reference(references: list[str]) -> None:
    assert ["".join(parts) for parts in split_labels(references)] == references
