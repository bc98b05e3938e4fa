"""Noise changes how a reference is printed; its values move along and stay what they were."""

from __future__ import annotations

import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reno_dspy.data.noise import Noise, add_noise
from reno_dspy.jats.citation import read
from reno_dspy.jats.spans import Span, project, render

ALL = Noise(label=1.0, lost_space=1.0, hyphenation=1.0, ligature=1.0)
EVERYTHING = Noise(**dict.fromkeys(Noise.model_fields, 1.0))


def test_noise_puts_in_each_defect_and_moves_the_gold_along() -> None:
    text = "Veldt A. A fine reflection. Annals of Fictional Matters. 2001; 4."
    start = text.index("A fine")
    spans = [Span(0, 5, "surname"), Span(start, start + 17, "article-title")]
    noisy, moved = add_noise(text, spans, ALL, random.Random(1))
    values = {span.field: noisy[span.start : span.end] for span in moved}
    assert values["surname"].replace("- ", "") == "Veldt"
    assert values["article-title"].replace("- ", "").replace(" ", "") == "Aﬁnereﬂection"
    assert noisy[0] in "[(0123456789"
    assert "- " in noisy
    assert add_noise(text, spans, ALL, random.Random(1)) == (noisy, moved)
    assert add_noise(text, spans, Noise(), random.Random(1)) == (text, spans)


def test_another_style_prints_the_same_people_and_titles() -> None:
    text = "Veldt A, Marsh B-C and Odd D. Paper tides: moss & clocks. J Fict. 2001."
    xml = (
        "<mixed-citation><surname>Veldt</surname><given-names>A</given-names><surname>Marsh</surname>"
        "<given-names>B-C</given-names><surname>Odd</surname><given-names>D</given-names>"
        "<article-title>Paper tides: moss &amp; clocks</article-title></mixed-citation>"
    )
    spans = project(text, xml).spans
    styled, moved = add_noise(
        text, spans, Noise(full_names=1, slashes=1, subtitles=1), random.Random(0)
    )
    values = [styled[span.start : span.end] for span in moved]
    assert [values[i] for i in (0, 2, 4, 6)] == [
        "Veldt",
        "Marsh",
        "Odd",
        "Paper tides. moss & clocks",
    ]
    assert all(len(values[i]) > 3 for i in (1, 3, 5))
    assert styled.startswith(
        "Veldt " + values[1] + "/Marsh " + values[3] + "/Odd " + values[5] + ". P"
    )


def test_an_issue_may_have_a_label() -> None:
    text = "J Fict. 2001;12 (3):45."
    spans = [Span(13, 15, "volume"), Span(17, 18, "issue"), Span(20, 22, "fpage")]
    styled, moved = add_noise(text, spans, Noise(locators=1), random.Random(0))
    assert [styled[span.start : span.end] for span in moved] == ["12", "3", "45"]
    assert "(" not in styled
    assert ")" not in styled


@given(
    text=st.text(st.sampled_from("abcfirn. ,;:A1&<ñé“”–(中文О"), min_size=1, max_size=60),
    borders=st.lists(st.integers(0, 60), max_size=6, unique=True),
    seed=st.integers(0, 1000),
)
def test_a_noisy_row_still_repeats_its_reference(text: str, borders: list[int], seed: int) -> None:
    inside = sorted(b for b in borders if b <= len(text))
    spans = [Span(a, b, "source") for a, b in zip(inside[::2], inside[1::2], strict=False)]
    noisy, moved = add_noise(text, spans, EVERYTHING, random.Random(seed))
    assert read(render(noisy, moved)).text == " ".join(noisy.split())


def values(text: str, spans: list[Span]) -> dict[str, str]:
    return {span.field: text[span.start : span.end] for span in spans}


REFERENCE = "Müller K. “Salz”. Zeitschrift 12(3): 4–9. 10.1000/rn.1"
PLACED = [
    Span(at := REFERENCE.index(value), at + len(value), field)
    for field, value in (
        ("surname", "Müller"),
        ("article-title", "Salz"),
        ("source", "Zeitschrift"),
        ("volume", "12"),
        ("pub-id", "10.1000/rn.1"),
    )
]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("quotes", 'Müller K. "Salz". Zeitschrift 12(3): 4–9. 10.1000/rn.1'),
        ("dashes", "Müller K. “Salz”. Zeitschrift 12(3): 4-9. 10.1000/rn.1"),
        ("accents", unicodedata.normalize("NFD", REFERENCE)),
    ],
)
def test_one_kind_of_noise_changes_one_thing(kind: str, expected: str) -> None:
    noisy, moved = add_noise(REFERENCE, PLACED, Noise(**{kind: 1.0}), random.Random(0))
    assert noisy == expected
    assert values(noisy, moved)["surname"] == unicodedata.normalize(
        "NFD" if kind == "accents" else "NFC", "Müller"
    )


@pytest.mark.parametrize("seed", range(20))
def test_misread_characters_leave_identifiers_and_numbers_alone(seed: int) -> None:
    noisy, moved = add_noise(REFERENCE, PLACED, Noise(ocr=1.0), random.Random(seed))
    assert noisy != REFERENCE
    assert values(noisy, moved)["pub-id"] == "10.1000/rn.1"
    assert values(noisy, moved)["volume"] == "12"


def test_full_width_punctuation_needs_han_or_kana() -> None:
    wide = Noise(full_width=1.0)
    assert add_noise(REFERENCE, PLACED, wide, random.Random(0))[0] == REFERENCE
    text = "王小明, 李四. 题名[J]. 学报, 2010, 12(3): 4.5"
    noisy, moved = add_noise(text, [Span(9, 11, "article-title")], wide, random.Random(0))
    assert noisy == "王小明，李四．题名[J]．学报，2010，12（3）：4.5"
    assert values(noisy, moved) == {"article-title": "题名"}


def test_invisible_characters_are_inside_of_words() -> None:
    noisy, _ = add_noise(REFERENCE, PLACED, Noise(zero_width=1.0), random.Random(3))
    hidden = [i for i, c in enumerate(noisy) if c in "\u200b\u00ad\ufeff"]
    assert len(hidden) == 2
    assert all(noisy[i - 1].isalpha() and noisy[i + 1].isalpha() for i in hidden)
