"""When two strings are the same."""

import unicodedata

from reno_dspy.jats.text import collapse, folded


def test_white_space_collapses() -> None:
    assert collapse(" Lumen,\u00a0H.\n 2014 ") == "Lumen, H. 2014"


def test_folding_keeps_letters_and_digits() -> None:
    assert folded("Lumen, H. (2014). Lan-\nterns_ﬁ.") == folded("LUMEN H 2014 Lanternsfi")
    assert folded("—. ") == ""


def test_composed_and_decomposed_letters_fold_alike() -> None:
    name = "Tüfekçi, Gdańsk"
    assert folded(unicodedata.normalize("NFD", name)) == folded(name) == "tüfekçigdańsk"
