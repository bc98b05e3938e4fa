"""Labels, `et al.` and the like in running text."""

import pytest

from reno_dspy.jats.phrases import ACCESSED, ETAL, NO_DATE, leading_label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("[14] Patel S. Foxes.", "[14]"),
        ("(22) Wang, H. Foxes.", "(22)"),
        ("8. The Quiet Group. Foxes.", "8."),
        ("13.Newman LG. Foxes.", "13."),
        ("7) Ito K. Foxes.", "7)"),
        ("28 Dos Santos PR, Meneghim MC. Foxes.", "28"),
        ("3 Silva, J. P. Foxes.", "3"),
        ("[Knu97] Knuth D. Foxes.", "[Knu97]"),
        ("3D printing of foxes. 2001.", None),
        ("2001. Foxes.", None),
        ("(2001) Foxes.", None),
        ("[1987] Foxes.", None),
        ("3.14 is a number.", None),
        ("2.0 Foxes.", None),
        ("20 Years of Foxes. 2001.", None),
        ("100 Jahre Füchse. Bern 1999.", None),
        ("0. Demus, Foxes.", None),
        ("12.", None),
    ],
)
def test_labels(text: str, label: str | None) -> None:
    found = leading_label(text)
    assert (text[slice(*found)] if found else None) == label


@pytest.mark.parametrize(
    "phrase",
    [
        "et al.", "et al", "et. al.", "et alii", "e outros", "u. a.", "u.a.", "и др.", "i in.", "y cols.",
        "e cols", "и соавт.", "a kol.", "m. fl.", "ve ark.", "and others", "& al.", "et coll.", "等",
    ],
)  # fmt: skip
def test_and_others(phrase: str) -> None:
    found = ETAL.search(f"Ito K, {phrase} Foxes.")
    assert found is not None
    assert found.group() == phrase


@pytest.mark.parametrize("text", ["Metal. Foxes", "Camargo, U. A. Foxes", "F. Ito and Al Mok"])
def test_no_others(text: str) -> None:
    assert ETAL.search(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "s.d.", "n.d.", "in press", "No prelo", "o. J.", "forthcoming", "sans date", "б. д.", "s. f.",
        "b.r.", "f.a.", "بدون تاریخ", "日付なし", "不详", "sem data", "w druku",
    ],
)  # fmt: skip
def test_no_date(text: str) -> None:
    assert NO_DATE.fullmatch(text)


@pytest.mark.parametrize("text", ["Acesso em: 5 mai. 2001", "[cited 5 May]", "Accessed on 5 May"])
def test_access(text: str) -> None:
    found = ACCESSED.search(text)
    assert found is not None
    assert text[found.end()] == "5"
    assert not ACCESSED.search("Access 2006: a guide")
