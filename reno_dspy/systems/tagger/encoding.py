"""References as the encoder's input: pieces of words, and the places at which labels are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from reno_dspy.systems.tokens import Token, tokenize

# Stands for the space before a word (SentencePiece's mark).
SPACE = "▁"
BEGIN, END = "<s>", "</s>"
_PADDING = "<pad>"
# References repeat their words, and looking a word up is much cheaper than cutting it into pieces.
_REMEMBERED = 1 << 16


class Pieces:
    """Cuts words into the encoder's vocabulary (`tokenizer.json` of the `tokenizers` library)."""

    def __init__(self, file: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(file))
        self.begin, self.end = self._id(BEGIN), self._id(END)
        self.padding = self._id(_PADDING)
        self._known: dict[str, list[int]] = {}

    def _id(self, mark: str) -> int:
        found: int | None = self._tokenizer.token_to_id(mark)
        assert found is not None, mark
        return found

    def of(self, words: Sequence[Token]) -> list[list[int]]:
        """The ids of each word's pieces, never none."""
        texts = [SPACE * (word.spaced or word.start == 0) + word.text for word in words]
        unknown = list({text for text in texts if text not in self._known})
        if unknown:
            if len(self._known) + len(unknown) > _REMEMBERED:
                self._known.clear()
                unknown = list(set(texts))
            cut = self._tokenizer.encode_batch_fast(unknown, add_special_tokens=False)
            for text, pieces in zip(unknown, cut, strict=True):
                # A word of characters that normalization removes still needs a place to be read at.
                self._known[text] = pieces.ids or self._tokenizer.encode(SPACE).ids
        return [self._known[text] for text in texts]


@dataclass(frozen=True)
class Window:
    """A stretch of a reference that fits the encoder.

    `ids` include the begin and end marks; `places[i]` is where the label of word `first + i` is
    read.
    """

    ids: tuple[int, ...]
    places: tuple[int, ...]
    first: int


@dataclass(frozen=True)
class Encoded:
    """A reference's words and the windows that read them, each word in one of them."""

    words: tuple[Token, ...]
    windows: tuple[Window, ...]


def encode(reference: str, pieces: Pieces, longest: int) -> Encoded:
    """Encode `reference` in windows of at most `longest` ids.

    A word is read at its first piece. A reference that fits has one window. In a longer one,
    windows overlap: a word is read where it has context on both sides.
    """
    words = tokenize(reference)
    # A "word" of hundreds of pieces is no word; its first ones say what it is.
    ids = [one[: longest // 4] for one in pieces.of(words)]
    windows = [
        _window(ids, shown, read, pieces)
        for shown, read in _cuts([len(one) for one in ids], longest - 2)
    ]
    return Encoded(tuple(words), tuple(windows))


def _window(ids: Sequence[Sequence[int]], shown: range, read: range, pieces: Pieces) -> Window:
    flat = [pieces.begin]
    places = []
    for word in shown:
        if word in read:
            places.append(len(flat))
        flat += ids[word]
    return Window((*flat, pieces.end), tuple(places), read.start)


def _cuts(lengths: Sequence[int], longest: int) -> Iterator[tuple[range, range]]:
    """(words shown, words read) of each window of at most `longest` pieces."""
    if sum(lengths) <= longest:
        yield range(len(lengths)), range(len(lengths))
        return
    # A quarter on each side is context, the half between is read.
    margin = longest // 4
    begin = 0
    while begin < len(lengths):
        before = _reach(lengths, begin - 1, -1, margin)
        end = _reach(lengths, begin, 1, longest - 2 * margin)
        after = _reach(lengths, end, 1, margin)
        yield range(before + 1, after), range(begin, end)
        begin = end


def _reach(lengths: Sequence[int], start: int, step: int, budget: int) -> int:
    """The first index from `start` on, by `step`, whose pieces no longer fit `budget`."""
    at = start
    while 0 <= at < len(lengths) and lengths[at] <= budget:
        budget -= lengths[at]
        at += step
    return at


def padded(windows: Sequence[Window], padding: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Ids and mask (windows, longest), padded on the right; the mask is 1 at pieces."""
    longest = max(len(window.ids) for window in windows)
    ids = np.full((len(windows), longest), padding, dtype=np.int64)
    mask = np.zeros((len(windows), longest), dtype=np.int32)
    for row, window in enumerate(windows):
        ids[row, : len(window.ids)] = window.ids
        mask[row, : len(window.ids)] = 1
    return ids, mask
