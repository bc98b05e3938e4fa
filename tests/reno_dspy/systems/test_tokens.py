"""Words of every script are words, and every place where a value may end is between two tokens."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reno_dspy.systems.crf.model import Crf
from reno_dspy.systems.tokens import shape_of, tokenize


@pytest.mark.parametrize(
    "word",
    [
        "Tu\u0308fekc\u0327i",
        "Gdan\u0301sk",
        "क्षेत्रीय",
        "کریمی\u200cنژاد",
        "Nguyễn",
        "п’ять",
        "Мар'яна",
        "צה״ל",
        'צה"ל',
    ],
)
def test_a_word_is_one_token(word: str) -> None:
    for text in (word, unicodedata.normalize("NFD", word)):
        tokens = tokenize(f"({text}, A.)")
        assert [(token.start, token.end) for token in tokens][1] == (1, 1 + len(text))
        assert [token.text for token in tokens][2:] == [",", "A", ".", ")"]
        assert tokens[1].text == unicodedata.normalize("NFC", text)


def test_marks_without_a_word_stand_alone() -> None:
    assert [token.text for token in tokenize("1\u0301 \u0301a ,\u0301")] == [
        "1",
        "\u0301",
        "\u0301",
        "a",
        ",",
        "\u0301",
    ]
    # A word whose marks have no composed form is a word all the same.
    assert shape_of("क्षे") == shape_of("aB")


@given(st.text(alphabet=st.characters(categories=["L", "M", "N", "P", "Z"]), max_size=40))
def test_tokens_hold_every_character(text: str) -> None:
    tokens = tokenize(text)
    assert "".join(text[t.start : t.end] for t in tokens) == "".join(text.split())


@pytest.mark.parametrize("reference", [
    "Tüfekçi Z, Gdańsk Ö. Über die Füchse. Zeitschrift für Zoologie. 2010;12(3):200-9.",
    "GARCÍA, P.; SÃO JOSÉ, M. Educação e cultura. São Paulo: Ática, 1999. 120 p.",
])  # fmt: skip
def test_decomposed_text_is_annotated_like_composed_text(reference: str) -> None:
    crf = Crf()
    decomposed = unicodedata.normalize("NFD", reference)
    assert len(decomposed) > len(reference)
    annotation = crf.annotate_one(decomposed)
    assert unicodedata.normalize("NFC", annotation) == crf.annotate_one(reference)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("송재호, 「盐与雾」", ["송", "재", "호", ",", "「", "盐", "与", "雾", "」"]),
        ("Python入門テスト", ["Python", "入", "門", "テ", "ス", "ト"]),
        ("がぎ", ["が", "ぎ"]),
        ("ที่ตั้ง", ["ที่", "ตั้", "ง"]),
        ("ខ្មែរ", ["ខ្", "មែ", "រ"]),
        ("L’étude d'O'Neil", ["L", "’", "étude", "d", "'", "O", "'", "Neil"]),
        ("“п’ять”", ["“", "п’ять", "”"]),
    ],
)
def test_scripts_without_spaces_are_cut_at_every_letter(text: str, pieces: list[str]) -> None:
    for form in ("NFC", "NFD"):
        tokens = tokenize(unicodedata.normalize(form, text))
        assert [token.text for token in tokens] == [unicodedata.normalize("NFC", p) for p in pieces]


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("２０１０", "2010"),
        ("۱۳۸۵", "1385"),
        ("२०१०", "2010"),
        ("ＷＩＬＳＯＮ", "WILSON"),
        ("（", "("),
        ("，", ","),
    ],
)
def test_width_and_script_of_digits_do_not_matter(wide: str, narrow: str) -> None:
    (token,) = tokenize(wide)
    assert (token.text, token.start, token.end) == (narrow, 0, len(wide))
    assert shape_of(token.text) == shape_of(narrow)


EVERY = st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=30)


@given(EVERY)
def test_tokens_are_the_same_however_accents_are_written(text: str) -> None:
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert [t.text for t in tokenize(composed)] == [t.text for t in tokenize(decomposed)]


@given(EVERY)
def test_a_mark_behind_a_letter_begins_no_token(text: str) -> None:
    for token in tokenize(text):
        before = text[token.start - 1 : token.start]
        if unicodedata.category(text[token.start]).startswith("M") and not token.spaced:
            assert not before.isalpha()


@given(EVERY)
def test_tokens_are_in_order_and_hold_no_space(text: str) -> None:
    end = 0
    for token in tokenize(text):
        assert end <= token.start < token.end
        assert token.spaced == any(c.isspace() for c in text[end : token.start])
        assert not any(character.isspace() for character in text[token.start : token.end])
        end = token.end
