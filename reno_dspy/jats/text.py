"""Forms in which two strings are the same: white space collapsed, letters and digits only, composed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

# A reference has no more characters; the longest real ones have some 2,000. Longer lines are text without
# line ends, on which a model whose attention is quadratic spends minutes.
LONGEST = 5_000


def collapse(text: str) -> str:
    """`text` with every run of white space as one space, and none at the ends."""
    return " ".join(text.split())


def folded(text: str) -> str:
    """Letters and digits only, without case: what survives hyphenation and lost spaces.

    Composed and decomposed accents (NFC, NFD) give the same form.
    """
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFC", text).casefold())


def folded_places(text: str) -> tuple[str, list[tuple[int, int]]]:
    """`folded(text)`, and for each of its characters where in `text` it begins and ends."""
    nfc, starts = composed(text)
    letters: list[str] = []
    places: list[tuple[int, int]] = []
    for i, character in enumerate(nfc):
        for letter in character.casefold():
            if letter.isalnum():
                letters.append(letter)
                places.append((starts[i], starts[i + 1]))
    return "".join(letters), places


def composed(text: str) -> tuple[str, Sequence[int]]:
    """`text` in NFC; where each character of that begins in `text`, and at last where `text` ends."""
    if unicodedata.is_normalized("NFC", text):
        return text, range(len(text) + 1)
    pieces: list[str] = []
    starts: list[int] = []
    for start, end in _clusters(text):
        piece = unicodedata.normalize("NFC", text[start:end])
        pieces.append(piece)
        # Of a cluster that stays several characters, the later ones begin one by one.
        starts += [min(start + i, end) for i in range(len(piece))]
    return "".join(pieces), [*starts, len(text)]


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Stretches that normalize independently: a character with its marks, a Hangul syllable."""
    start = 0
    for i in range(1, len(text) + 1):
        if i == len(text) or not _continues(text[i]):
            yield start, i
            start = i


def _continues(character: str) -> bool:
    """Whether a character may compose with the one before it."""
    # Vowels and final consonants of Hangul are the only such letters.
    return unicodedata.category(character)[0] == "M" or "\u1160" <= character <= "\u11ff"
