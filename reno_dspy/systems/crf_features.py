"""What the CRF sees of each token of a reference: plain text features, no dictionary, no model.

Features are strings: what a token looks like, what stands around it, and where in the reference it stands.
"""

from __future__ import annotations

from collections.abc import Sequence

from reno_dspy.systems.crf_style import sentence_features
from reno_dspy.systems.crf_tokens import (
    CLOSING,
    OPENING,
    QUOTES,
    Look,
    Token,
    look_of,
    next_class,
    shape_of,
)

# What divides a reference into segments whose length and look tell titles from sources and places.
_STOPS = frozenset('.,:;()[]?!"“”„«»/')


def features(tokens: Sequence[Token]) -> list[list[str]]:
    """One list of feature strings for each token."""
    looks = [look_of(token.text) for token in tokens]
    places = _places(tokens)
    segments = _segments(tokens, looks)
    sentences = sentence_features(tokens, looks)
    edge = look_of("")
    padded = [edge, edge, edge, *looks, edge, edge, edge]
    rows = []
    for i, token in enumerate(tokens):
        before3, before2, before, own, after, after2, after3 = padded[i : i + 7]
        row = [
            *own.own,
            *before.before,
            *after.after,
            *before2.before2,
            *after2.after2,
            f"s-3={before3.shape}",
            f"s+3={after3.shape}",
            f"w-1w={before.word}|{own.word}",
            f"ww+1={own.word}|{after.word}",
            f"s3={before.shape}|{own.shape}|{after.shape}",
            f"s5={before2.shape}|{before.shape}|{own.shape}|{after.shape}|{after2.shape}",
            f"s-3-1={before3.shape}|{before2.shape}|{before.shape}|{own.shape}",
            f"s+1+3={own.shape}|{after.shape}|{after2.shape}|{after3.shape}",
            *places[i],
            *segments[i],
            *sentences[i],
        ]
        if token.spaced:
            row.append("spaced")
        if i + 1 < len(tokens) and tokens[i + 1].spaced:
            row.append("spaced+1")
        rows.append(row)
    return rows


def _places(tokens: Sequence[Token]) -> list[list[str]]:
    """Where a token stands: from either end, inside brackets or quotes, after what has been seen."""
    rows, count = [], len(tokens)
    depth, quoted, seen = 0, False, _Seen()
    for i, token in enumerate(tokens):
        text = token.text
        if text in CLOSING:
            depth = max(0, depth - 1)
        row = [f"part={8 * i // count}", f"first={min(i, 9)}", f"last={min(count - i, 9)}"]
        row.append(f"in={'(' if depth else ''}{chr(34) if quoted else ''}")
        row += seen.features()
        rows.append(row)
        if text in OPENING:
            depth += 1
        elif text in QUOTES:
            quoted = not quoted
        seen.add(token)
    return rows


class _Seen:
    """What has been read so far: a year, an `In:`, quotes, how many numbers, the last punctuation."""

    def __init__(self) -> None:
        self._year = self._inside = self._quote = False
        self._numbers = 0
        self._marks = "||"

    def features(self) -> list[str]:
        state = f"{self._year:d}{self._inside:d}{self._quote:d}"
        return [
            f"seen={state}",
            f"numbers={min(self._numbers, 5)}",
            f"marks={self._marks}",
            f"seen-mark={state}{self._marks[-1]}",
        ]

    def add(self, token: Token) -> None:
        text = token.text
        if text.isdigit():
            self._numbers += 1
            self._year = self._year or shape_of(text) == "Y"
        elif text in ("In", "IN", "En", "Em", "EN", "EM", "in", "em", "en"):
            self._inside = self._inside or (self._marks[-1] in '.,"?' and text != "in")
        elif text in QUOTES:
            self._quote = True
        if not text.isalnum():
            self._marks = self._marks[-1] + text


def _segments(tokens: Sequence[Token], looks: Sequence[Look]) -> list[list[str]]:
    """What lies between two punctuation marks: how long, how written, how it begins and ends."""
    rows: list[list[str]] = []
    start = 0
    while start < len(tokens):
        end = start
        while end < len(tokens) and tokens[end].text not in _STOPS:
            end += 1
        inner = looks[start:end]
        common = _segment(inner)
        if inner:
            common.append(f"open={looks[start - 1].shape if start else '|'}")
            common.append(f"close={looks[end].shape if end < len(looks) else '|'}")
            common.append(f"next={next_class(looks, end + 1)}")
        rows += [[*common, f"at={min(i, 4)}"] for i in range(end - start)]
        if end < len(tokens):
            rows.append([f"after-segment={min(len(inner), 5)}"])
        start = end + 1
    return rows


def _segment(looks: Sequence[Look]) -> list[str]:
    if not looks:
        return []
    capitals = sum(look.shape[0] == "A" for look in looks)
    return [
        f"length={min(len(looks), 8)}",
        f"capitals={4 * capitals // len(looks)}|{min(len(looks), 4)}",
        f"begin={looks[0].word}",
        f"end={looks[-1].word}",
        f"segment={'|'.join(look.shape for look in looks[:4])}",
    ]
