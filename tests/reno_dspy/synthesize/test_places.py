"""Where the processor's marks are, and the values that an annotator would tag."""

from __future__ import annotations

import re
from typing import Any

import pytest

from reno_dspy.synthesize.kinds import Work
from reno_dspy.synthesize.marks import CLOSE, MID, OPEN, read_marks
from reno_dspy.synthesize.metadata import Item
from reno_dspy.synthesize.places import place
from reno_dspy.synthesize.styles import Initials
from reno_dspy.synthesize.trim import Unplaced


def marked(text: str) -> str:
    """A reference with the engine's marks from one in which they read `{kind name:text}`."""
    return re.sub(r"\{([\w -]+):", rf"{OPEN}\1{MID}", text).replace("}", CLOSE)


def work(form: str, language: str | None = "en", **csl: Any) -> Work:
    kinds = {"journal": "article-journal", "preprint": "article", "confproc": "paper-conference"}
    item = Item("i", "key", form, csl, language, None, None)
    return Work({"type": kinds.get(form, form), **csl}, form, item)


def values(text: str, one: Work, initials: Initials = "stops") -> list[tuple[str, str]]:
    plain, marks = read_marks(marked(text))
    return [(s.field, plain[s.start : s.end]) for s in place(plain, marks, one, initials)]


def test_marks_nest_and_white_space_is_one() -> None:
    text, marks = read_marks(
        marked("  {person author:{name family:Veldt},\n {name given:A.}}  x\u00a0\n y ")
    )
    assert text == "Veldt, A. x\u00a0y"
    assert [(m.kind, m.name, text[m.start : m.end]) for m in marks] == [
        ("person", "author", "Veldt, A."),
        ("name", "family", "Veldt"),
        ("name", "given", "A."),
    ]


ONE = "{person author:{name family:Veldt}, {name given:A. M.}}"


@pytest.mark.parametrize(
    ("text", "one", "expected"),
    [
        (
            "[{var citation-number:1}] " + ONE + " “{var title:Paper tides.}” "
            "{var container-title:J. Fict.} {var volume:12}({var issue:3}), {var page:281}–{var page:96} "
            "({date issued year:2010}).",
            work("journal"),
            [
                ("label", "[1]"), ("surname", "Veldt"), ("given-names", "A. M."),
                ("article-title", "Paper tides"), ("source", "J. Fict"), ("volume", "12"), ("issue", "3"),
                ("fpage", "281"), ("lpage", "96"), ("year", "2010"),
            ],
        ),
        (
            "{var title:Salz} in {person editor:{name given:J.} {name particle:von} {name family:Groß}} "
            "({term editor:Hg.}), {var container-title:Handbuch}, {var edition:2}. {term edition:Aufl.}, "
            "{var publisher-place:Berlin and New York}: {var publisher:Verlag Inc.}, "
            "{var number-of-pages:214} S.",
            work("chapter", "de"),
            [
                ("chapter-title", "Salz"), ("given-names", "J."), ("surname", "von Groß"),
                ("source", "Handbuch"), ("edition", "2. Aufl."), ("publisher-loc", "Berlin"),
                ("publisher-loc", "New York"), ("publisher-name", "Verlag Inc"), ("size", "214 S."),
            ],
        ),
        (
            ONE + " {etal:et al.} {var title:How fog works}. {var container-title:Fog} "
            "{var URL:https://f.example/a.} "
            "(accessed {date accessed day:2} {date accessed month:May} {date accessed year:2020})",
            work("webpage"),
            [
                ("surname", "Veldt"), ("given-names", "A. M."), ("etal", "et al."),
                ("article-title", "How fog works"), ("source", "Fog"), ("uri", "https://f.example/a"),
                ("date-in-citation", "2 May 2020"),
            ],
        ),
        (
            "{var title:How fog works}, {date issued day:3.} {date issued month:Sept.} "
            "{date issued year:2020}, "
            "https://doi.org/{var DOI:10.1000/x.}",
            work("webpage"),
            [
                ("source", "How fog works"), ("day", "3"), ("month", "Sept."), ("year", "2020"),
                ("pub-id", "10.1000/x"),
            ],
        ),
        (
            "{var title:Fast salt}. {var container-title:arXiv preprint arXiv:2103.01234}",
            work("preprint"),
            [("article-title", "Fast salt"), ("source", "arXiv"), ("pub-id", "2103.01234")],
        ),
        (
            "{var title:Fast salt}. {var publisher:arXiv}. {var number:arXiv:2103.01234}",
            work("preprint"),
            [("article-title", "Fast salt"), ("source", "arXiv"), ("pub-id", "2103.01234")],
        ),
        (
            "{var title:Fog counts} [Data set]. {var publisher:Zenodo}. {var version:1.0}",
            work("data"),
            [("data-title", "Fog counts"), ("source", "Zenodo"), ("version", "1.0")],
        ),
        (
            "{var title:Kam analiz [Towards an analysis].} {term no date:n.d.}",
            work("book", "bg", **{"translated-title": "Towards an analysis"}),
            [("source", "Kam analiz"), ("trans-title", "Towards an analysis"), ("comment", "n.d.")],
        ),
        (
            "{var title:Mist}. {var container-title:J. Fict.}, {var volume:Bd. 3}, "
            "{var page:Article 12}, {date issued month:Spring} {date issued year:2001}",
            work("journal", issued={"date-parts": [[2001]], "season": 1}),
            [
                ("article-title", "Mist"), ("source", "J. Fict"), ("volume", "3"), ("elocation-id", "12"),
                ("season", "Spring"), ("year", "2001"),
            ],
        ),
        (
            "{body author:Institute of Salt}. {var title:Salt?} {var container-title:Fog J} "
            "{var page:e0123456}.",
            work("journal"),
            [
                ("collab", "Institute of Salt"), ("article-title", "Salt?"), ("source", "Fog J"),
                ("elocation-id", "e0123456"),
            ],
        ),
        (
            "{person author:{name family:สมชาย ใจดี}}. {var title:หมอก}.",
            work("book", "th"),
            [("given-names", "สมชาย"), ("surname", "ใจดี"), ("source", "หมอก")],
        ),
    ],
)  # fmt: skip
def test_marks_become_values(text: str, one: Work, expected: list[tuple[str, str]]) -> None:
    assert values(text, one) == expected


@pytest.mark.parametrize(
    ("place", "values_of_it"),
    [
        ("Amsterdam/Philadelphia", ["Amsterdam", "Philadelphia"]),
        ("London and New York", ["London", "New York"]),
        ("Berlin, Boston", ["Berlin", "Boston"]),
        ("Cambridge, MA", ["Cambridge, MA"]),
        ("Bosnia and Herzegovina", ["Bosnia and Herzegovina"]),
    ],
)
def test_each_place_is_one_value(place: str, values_of_it: list[str]) -> None:
    found = values(f"{{var title:Mist}}. {{var publisher-place:{place}}}: Fog.", work("book"))
    assert [value for field, value in found if field == "publisher-loc"] == values_of_it


@pytest.mark.parametrize(
    ("given", "initials", "csl", "value"),
    [
        ("A. M.", "stops", "Anna Maria", "A. M."),
        ("AM.", "stops", "Anna Maria", "AM"),
        ("A.", "bare", "Anna", "A"),
        ("Anna.", "stops", "Anna", "Anna"),
        ("A.", "as_given", "A.", "A."),
        ("A.", "as_given", "A", "A"),
    ],
)
def test_a_stop_after_initials_is_theirs_or_the_sentences(
    given: str, initials: Initials, csl: str, value: str
) -> None:
    one = work("book", author=[{"family": "Veldt", "given": csl}])
    text = f"{{person author:{{name family:Veldt}} {{name given:{given}}}}} {{var title:Mist}}"
    assert values(text, one, initials)[1] == ("given-names", value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{var title:Mist}. {var volume:3} and again {var volume:3}", "printed_twice"),
        ("{var title:Mist {var publisher:Fog}}", "overlap"),
        ("{person recipient:{name family:Veldt}} {var title:Mist}", "role"),
    ],
)
def test_what_is_not_certain_is_dropped(text: str, reason: str) -> None:
    with pytest.raises(Unplaced, match=reason):
        values(text, work("book"))
