"""How the parts of a reference and its style look to the CRF: what tells a title from a source."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from reno_dspy.systems.tokens import OPENING, QUOTES, Look, Token, next_class, shape_of


def sentence_features(tokens: Sequence[Token], looks: Sequence[Look]) -> list[list[str]]:
    """Stretches that end in a full stop after a word (not after an initial): the parts of a style."""
    bounds = _sentence_bounds(tokens)
    style = _style(tokens)
    rows: list[list[str]] = []
    prose, dated = 0, False
    for number, (start, end) in enumerate(pairwise(bounds)):
        inner = looks[start:end]
        digits = sum(look.shape[0] in "Y123456" for look in inner)
        words = sum(look.shape in ("aa", "aaa") for look in inner)
        left = len(bounds) - 2 - number
        common = [
            f"sentence={min(number, 5)}",
            f"sentences-left={min(left, 4)}",
            f"sentence-length={len(inner).bit_length()}|{min(digits, 3)}",
            f"prose={min(prose, 3)}|{min(words, 3)}",
            f"style={style}|{min(prose, 3)}|{dated:d}",
            f"style-sentence={style}|{min(number, 5)}",
            f"next-sentence={next_class(looks, end)}|{min(prose, 3)}",
        ]
        rows += [common] * (end - start)
        prose += words >= 2
        dated = dated or any(look.shape == "Y" for look in inner)
    return rows


def _sentence_bounds(tokens: Sequence[Token]) -> list[int]:
    bounds = [0]
    for i, token in enumerate(tokens[:-1]):
        word = i > 0 and (len(tokens[i - 1].text) > 3 or not tokens[i - 1].text.isalpha())
        if token.text in ".?!" and word and tokens[i + 1].spaced:
            bounds.append(i + 1)
    return [*bounds, len(tokens)]


def _style(tokens: Sequence[Token]) -> str:
    """The reference's style in a few characters: where its year stands, quotes, volume marks, `In`."""
    years = [i for i, token in enumerate(tokens) if shape_of(token.text) == "Y"]
    words = {token.text for token in tokens}
    place = "-" if not years else ("early" if years[0] < 0.45 * len(tokens) else "late")
    bracket = bool(years) and years[0] > 0 and tokens[years[0] - 1].text in OPENING
    return "".join(
        (
            place,
            "(" if bracket else "",
            "q" if words & set(QUOTES) else "",
            "v" if words & {"v", "vol", "Vol", "V"} else "",
            "i" if words & {"In", "Em", "En"} else "",
            "u" if words & {"http", "https", "www"} else "",
            "j" if _has_locator(tokens) else "",
        )
    )


def _has_locator(tokens: Sequence[Token]) -> bool:
    """Whether a number stands as only a journal's volume and pages do: `53(1)`, `v. 53`, `53: 6`."""
    shapes = [shape_of(token.text) for token in tokens]
    for one, two, three in zip(shapes, shapes[1:], shapes[2:], strict=False):
        number = one in ("1", "2", "3", "4")
        if number and two in ("Ps(", "Po:", "Po,") and three[0] in "Y123456":
            return True
        if one == "Y" and two == "Po;" and three in ("1", "2", "3"):
            return True
    words = [token.text.lower() for token in tokens]
    marks = zip(words, shapes[1:], shapes[2:], strict=False)
    return any(
        word in ("v", "vol", "n", "no") and dot == "Po." and number in ("1", "2", "3")
        for word, dot, number in marks
    )
