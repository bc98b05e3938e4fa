"""What a pair teaches, or why it teaches nothing."""

import pytest

from reno_dspy.data.dataset import Row
from reno_dspy.data.lessons import Lesson, lesson_of

TEXT = "12. Ito KL, et al.: Foxes of Bern. J Fict. 2001;3:1-9."
GOLD = (
    '<mixed-citation publication-type="article"><surname>Ito</surname><given-names>KL</given-names>'
    "<article-title>Foxes of Bern.</article-title><source>J Fict.</source><year>2001</year>"
    "<volume>3</volume><issue>7</issue></mixed-citation>"
)


def test_a_lesson_is_placed_and_cleaned() -> None:
    lesson = lesson_of(Row(None, TEXT, GOLD, "ore"))
    assert isinstance(lesson, Lesson)
    assert [(s.field, TEXT[s.start : s.end]) for s in lesson.spans] == [
        ("label", "12."), ("surname", "Ito"), ("given-names", "KL"), ("etal", "et al."),
        ("article-title", "Foxes of Bern"), ("source", "J Fict"), ("year", "2001"), ("volume", "3"),
    ]  # fmt: skip
    assert (lesson.publication_type, lesson.missing, lesson.source) == (
        "journal",
        ("issue",),
        "ore",
    )
    assert lesson.cleaned == {"et_al": 1, "labels": 1, "title_edges": 2}


@pytest.mark.parametrize(
    ("plaintext", "xml", "reason"),
    [
        (None, GOLD, "no_plaintext"),
        (TEXT, "<a>", "malformed_xml"),
        ("A\x01B", GOLD, "illegal_character"),
    ],
)
def test_what_teaches_nothing(plaintext: str | None, xml: str, reason: str) -> None:
    assert lesson_of(Row(None, plaintext, xml, "ore")) == reason


def test_nothing_is_added_to_gold_that_says_nothing() -> None:
    lesson = lesson_of(Row(None, TEXT, "<mixed-citation/>", "ore"))
    assert isinstance(lesson, Lesson)
    assert lesson.spans == ()
