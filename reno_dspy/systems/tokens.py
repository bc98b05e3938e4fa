"""Tokens of a reference, and what each looks like to the CRF."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

QUOTES = '"“”„«»‟″'
OPENING, CLOSING = "([{", ")]}"
_DASHES = "-‐‑‒–—"
_TOKEN = re.compile(r"\d+|[^\W\d_]+|\S")
# Below the first combining mark of Unicode.
_NO_MARK = "\u0300"
# Zero-width (non-)joiners, which stand inside words of Persian and of Indian languages.
_JOINERS = "\u200c\u200d"


class Token(NamedTuple):
    """Characters [start, end) of the reference, their combining marks composed (NFC).

    `spaced`: white space stands before it.
    """

    text: str
    start: int
    end: int
    spaced: bool


def tokenize(text: str) -> list[Token]:
    """The tokens of `text`, in order; together they hold every character but white space.

    Combining marks are part of their word: `e` + U+0301 is no other token than `é`, as many PDFs have it.
    """
    tokens: list[Token] = []
    end, in_word, after_mark = 0, False, False
    for found in _TOKEN.finditer(text):
        piece, start = found.group(), found.start()
        adjacent, is_mark, is_word = start == end, _is_mark(piece), piece[0].isalpha()
        end = found.end()
        if adjacent and in_word and (is_mark or (after_mark and is_word)):
            first = tokens.pop()
            whole = unicodedata.normalize("NFC", text[first.start : end])
            tokens.append(Token(whole, first.start, end, first.spaced))
        else:
            tokens.append(Token(piece, start, end, not adjacent))
            in_word = is_word
        after_mark = is_mark
    return tokens


def _is_mark(piece: str) -> bool:
    if piece < _NO_MARK or len(piece) > 1:
        return False
    return piece in _JOINERS or unicodedata.category(piece).startswith("M")


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
