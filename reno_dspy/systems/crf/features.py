"""What the CRF sees of each token of a reference: plain text features, no dictionary, no model.

Features are strings: what a token looks like, what stands around it, and where in the reference it stands.
"""

from __future__ import annotations

from collections.abc import Sequence

from reno_dspy.systems.crf.style import sentence_features
from reno_dspy.systems.tokens import (
    CLOSING,
    OPENING,
    QUOTES,
    Look,
    Token,
    look_of,
    next_class,
)

# What divides a reference into segments whose length and look tell titles from sources and places.
_STOPS = frozenset('.,:;()[]?!"“”„«»/')
_IN = frozenset(("In", "IN", "En", "EN", "Em", "EM", "en", "em"))
# Made once: building these strings anew for every token would take a third of the time.
_FIRST = tuple(f"first={i}" for i in range(10))
_LAST = tuple(f"last={i}" for i in range(10))
_AT = tuple(f"at={i}" for i in range(5))
_AFTER = tuple(f"after-segment={i}" for i in range(6))


def features(tokens: Sequence[Token]) -> list[list[str]]:
    """One list of feature strings for each token."""
    looks = [look_of(token.text) for token in tokens]
    places = _places(tokens, looks)
    segments = _segments(looks)
    sentences = sentence_features(tokens, looks)
    edge = look_of("")
    padded = [edge, edge, edge, *looks, edge, edge, edge]
    rows = []
    for i, token in enumerate(tokens):
        before3, before2, before, own, after, after2, after3 = padded[i : i + 7]
        near = f"{before.shape}|{own.shape}|{after.shape}"
        row = [
            *own.own,
            *before.before,
            *after.after,
            *before2.before2,
            *after2.after2,
            f"w-1w={before.word}|{own.word}",
            f"ww+1={own.word}|{after.word}",
            f"s3={near}",
            f"s5={before2.shape}|{near}|{after2.shape}",
            f"s-3-1={before3.shape}|{before2.shape}|{before.shape}|{own.shape}",
            f"s+1+3={own.shape}|{after.shape}|{after2.shape}|{after3.shape}",
            *places[i],
            *segments[i],
            *sentences[i],
        ]
        if token.spaced:
            row.append("spaced")
        rows.append(row)
    return rows


def _places(tokens: Sequence[Token], looks: Sequence[Look]) -> list[tuple[str, ...]]:
    """Where a token stands: from either end, inside brackets or quotes, after what has been seen."""
    rows, count, seen = [], len(tokens), _Seen()
    for i, (token, look) in enumerate(zip(tokens, looks, strict=True)):
        rows.append((_FIRST[min(i, 9)], _LAST[min(count - i, 9)], *seen.features))
        seen.add(token.text, look.shape)
    return rows


class _Seen:
    """What has been read so far: a year, an `In:`, quotes, open brackets, numbers, the last marks."""

    def __init__(self) -> None:
        self._year = self._inside = self._quote = self._quoted = False
        self._numbers = self._depth = 0
        self._marks = "||"
        self.features = self._features()

    def add(self, text: str, shape: str) -> None:
        """Read one more token."""
        if text[0].isalpha():
            if text not in _IN or self._marks[-1] not in '.,?"':
                return
            self._inside = True
        elif text.isdigit():
            self._numbers += 1
            self._year = self._year or shape == "Y"
        else:
            self._mark(text)
        self.features = self._features()

    def _mark(self, text: str) -> None:
        self._marks = self._marks[-1] + text
        if text in OPENING:
            self._depth += 1
        elif text in CLOSING:
            self._depth = max(0, self._depth - 1)
        elif text in QUOTES:
            self._quote, self._quoted = True, not self._quoted

    def _features(self) -> tuple[str, ...]:
        return (
            f"seen={self._year:d}{self._inside:d}{self._quote:d}",
            f"numbers={min(self._numbers, 5)}",
            f"marks={self._marks}",
            f"in={min(self._depth, 1)}{self._quoted:d}",
        )


def _segments(looks: Sequence[Look]) -> list[Sequence[str]]:
    """What lies between two punctuation marks: how long, how written, how it begins and ends."""
    rows: list[Sequence[str]] = []
    start = 0
    while start < len(looks):
        end = start
        while end < len(looks) and looks[end].word not in _STOPS:
            end += 1
        if end > start:
            close = looks[end].shape if end < len(looks) else "|"
            common = [*_segment(looks[start:end]), f"close={close}"]
            common.append(f"next={next_class(looks, end + 1)}")
            rows += [(*common, _AT[min(i, 4)]) for i in range(end - start)]
        if end < len(looks):
            rows.append((_AFTER[min(end - start, 5)],))
        start = end + 1
    return rows


def _segment(looks: Sequence[Look]) -> list[str]:
    capitals = sum(look.shape[0] == "A" for look in looks)
    return [
        f"length={min(len(looks), 8)}",
        f"capitals={4 * capitals // len(looks)}|{min(len(looks), 4)}",
        f"begin={looks[0].word}",
        f"end={looks[-1].word}",
        f"segment={'|'.join(look.shape for look in looks[:4])}",
    ]
