"""Tokens of a reference, and what each looks like to the CRF.

The CRF, the tagger and the copy grammar cut at the same places: between tokens, never inside one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from reno_dspy.jats.text import composed

QUOTES = '"“”„«»‟″'
OPENING, CLOSING = "([{", ")]}"
_DASHES = "-‐‑‒–—"
# Scripts without spaces between words, or between the parts of a name: Thai, Lao, Myanmar, Khmer, kana,
# Han, Hangul. A value may begin and end at each of their letters.
_UNSPACED = (
    r"\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    r"\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_LATIN = "A-Za-z\u00c0-\u024f\u1e00-\u1eff"
_LETTERS = rf"(?:(?![{_UNSPACED}])[^\W\d_])+"
# Inside a word of another script an apostrophe is a letter (п’ять, צה״ל). Latin ones stay cut at it, as
# the models that ship have learnt.
_APOSTROPHE = rf"(?<![{_LATIN}])(?:['’׳״]|(?<=[\u05d0-\u05ea])\")(?=[^\W\d_])(?![{_LATIN}])"
_TOKEN = re.compile(rf"\d+|[{_UNSPACED}]|{_LETTERS}(?:{_APOSTROPHE}{_LETTERS})*|\S")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
# Below the first combining mark of Unicode.
_NO_MARK = "\u0300"
# Zero-width (non-)joiners, which stand inside words of Persian and of Indian languages.
_JOINERS = "\u200c\u200d"
# Forms of ASCII that are as wide as Han.
_NARROW = {0xFF01 + i: 0x21 + i for i in range(94)}


class Token(NamedTuple):
    """Characters [start, end) of the reference, and how they read.

    `text` has combining marks composed (NFC), digits of every script as 0 to 9, and full-width letters,
    digits and punctuation as ASCII. `spaced`: white space stands before it.
    """

    text: str
    start: int
    end: int
    spaced: bool


def tokenize(text: str) -> list[Token]:
    """The tokens of `text`, in order; together they hold every character but white space.

    A word has its combining marks, joiners and (but for Latin) apostrophes: `e` + U+0301 is no other
    token than `é`, as many PDFs have it. In scripts without spaces every letter with its marks is one.
    """
    whole, starts = composed(text)
    places: list[tuple[int, int, bool]] = []
    end, in_word, after_mark = 0, False, False
    for found in _TOKEN.finditer(whole):
        piece, start = found.group(), found.start()
        adjacent, is_mark, is_word = start == end, _is_mark(piece), piece[0].isalpha()
        cut = is_word and _IS_UNSPACED.match(piece) is not None
        end = found.end()
        if adjacent and in_word and (is_mark or (after_mark and is_word and not cut)):
            first, _, spaced = places.pop()
            places.append((first, end, spaced))
        else:
            places.append((start, end, not adjacent))
            in_word = is_word
        # What follows a mark goes on with the word, but not in a script in which every letter stands alone.
        after_mark = is_mark and not _IS_UNSPACED.match(whole[places[-1][0]])
    return [Token(_read(whole[a:b]), starts[a], starts[b], spaced) for a, b, spaced in places]


def _is_mark(piece: str) -> bool:
    if piece < _NO_MARK or len(piece) > 1:
        return False
    return piece in _JOINERS or unicodedata.category(piece).startswith("M")


def _read(piece: str) -> str:
    """`piece` as a reader of any script takes it: digits by value, width aside."""
    if piece.isascii():
        return piece
    if piece.isdecimal():
        return "".join(str(unicodedata.decimal(digit)) for digit in piece)
    return piece.translate(_NARROW)


class Look(NamedTuple):
    """What one token looks like, and the features that it and its neighbours get from that."""

    word: str
    shape: str
    own: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    before2: tuple[str, ...]
    after2: tuple[str, ...]


@lru_cache(maxsize=1 << 14)
def look_of(text: str) -> Look:
    """How the token `text` looks; "" stands for what lies beyond the ends of the reference."""
    word, shape = text.lower() or "|", shape_of(text)
    own = [f"w={word}", f"s={shape}"]
    if len(word) > 2:
        own += [f"p2={word[:2]}", f"p3={word[:3]}", f"x2={word[-2:]}", f"x3={word[-3:]}"]
    return Look(
        word,
        shape,
        tuple(own),
        (f"w-1={word}", f"s-1={shape}"),
        (f"w+1={word}", f"s+1={shape}"),
        (f"w-2={word}", f"s-2={shape}"),
        (f"w+2={word}", f"s+2={shape}"),
    )


def shape_of(text: str) -> str:
    """A class of tokens: letters by case and length, digits by number, punctuation as itself."""
    if not text:
        return "|"
    if text.isdigit():
        year = len(text) == 4 and "1500" <= text <= "2039"
        return "Y" if year else f"{min(len(text), 6)}"
    if text[0].isalpha():
        return _letters(text)
    if text in _DASHES:
        return "-"
    return '"' if text in QUOTES else unicodedata.category(text[0]) + text[0]


def _letters(text: str) -> str:
    if len(text) == 1:
        return "A" if text.isupper() else "a"
    if text.isupper():
        return "AA" if len(text) <= 3 else "AAA"
    if text.islower():
        return "aa" if len(text) <= 3 else "aaa"
    return "Aa" if text.istitle() else "aA"


def next_class(looks: Sequence[Look], start: int) -> str:
    """How the next segment begins, past punctuation: a digit, a short mark (`v`, `vol`), a word."""
    for look in looks[start : start + 4]:
        if look.shape[0] not in 'PSZ-"':
            return look.word if len(look.word) <= 3 and look.word.isalpha() else look.shape
    return "|"
