"""Thoughts of a reasoning model, in the shapes in which servers send them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reno_dspy.jats.citation import read
from reno_dspy.jats.thoughts import without_thoughts

GOLD = "<mixed-citation><surname>Ito</surname> <year>2010</year></mixed-citation>"
DRAFT = "Perhaps <mixed-citation><surname>Wrong</surname></mixed-citation>?"


@pytest.mark.parametrize(
    "answer",
    [
        f"<think>{DRAFT}</think>{GOLD}",
        f"\n<think>\n{DRAFT}\n</think>\n\n{GOLD}",
        f"{DRAFT}\n</think>\n\n{GOLD}",
        f"<think></think>\n<thinking>{DRAFT}</thinking>\n{GOLD}",
        f"<THINK>{DRAFT}</THINK>\n```xml\n{GOLD}\n```",
    ],
)
def test_the_answer_alone_is_read(answer: str) -> None:
    reading = read(answer)
    assert reading.thought
    assert reading.well_formed
    assert reading.lenient["surname"] == ("Ito",)


def test_a_thought_that_is_never_closed_leaves_nothing() -> None:
    assert without_thoughts(f"<think>\n{DRAFT}") == ("", True)
    assert not any(read(f"<think>\n{DRAFT}").lenient.values())


@pytest.mark.parametrize(
    "answer",
    [GOLD, "Never write <think> or </think>.", f"{GOLD} <think>", "", "I think <b>so</b>."],
)
def test_without_a_thought_the_answer_stands_as_it_is(answer: str) -> None:
    assert without_thoughts(answer) == (answer, False)


def test_an_answer_that_speaks_of_the_tags_after_its_thought_stays_whole() -> None:
    instructions = "Never write <think> or </think> into the answer."
    assert without_thoughts(f"<think>Hm.</think> {instructions}") == (instructions, True)


@given(st.text(), st.text(alphabet="abc <>/\n"))
def test_whatever_is_thought_nothing_of_it_is_left(thought: str, answer: str) -> None:
    kept = "" if "<" in thought else thought
    rest, _ = without_thoughts(f"<think>{kept}</think>{answer}")
    assert rest == answer.lstrip()
