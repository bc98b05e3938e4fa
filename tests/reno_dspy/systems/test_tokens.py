"""Words with combining marks and joiners are words."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reno_dspy.systems.crf.model import Crf
from reno_dspy.systems.tokens import shape_of, tokenize


@pytest.mark.parametrize(
    "word",
    ["Tu\u0308fekc\u0327i", "Gdan\u0301sk", "क्षेत्रीय", "کریمی\u200cنژاد", "ภูมิศาสตร์", "Nguyễn"],
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
