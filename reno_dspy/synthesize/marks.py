"""The engine's marks read: a printed reference, and which of its characters say what.

A mark is OPEN kind MID text CLOSE; marks nest. Kinds are `var NAME`, `date NAME year|month|day`,
`term NAME`, `person ROLE` with `name family|given|particle|suffix` inside, `body ROLE` and `etal`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

OPEN, MID, CLOSE = "\ue000", "\ue001", "\ue002"
_PIECE = re.compile(f"{OPEN}([^{MID}]*){MID}|{CLOSE}")


@dataclass(frozen=True, order=True)
class Mark:
    """Characters [start, end) of a printed reference that are `kind` (`var`, `name`, ...) `name`."""

    start: int
    end: int
    kind: str
    name: str


def read_marks(marked: str) -> tuple[str, list[Mark]]:
    """The text without marks, white space collapsed, and its marks in order, outer ones first."""
    pieces: list[str] = []
    length = 0
    opened: list[tuple[str, int]] = []
    found: list[tuple[int, int, str]] = []
    place = 0
    for piece in _PIECE.finditer(marked):
        pieces.append(marked[place : piece.start()])
        length += piece.start() - place
        place = piece.end()
        if piece[1] is not None:
            opened.append((piece[1], length))
        elif opened:
            kind, start = opened.pop()
            found.append((start, length, kind))
    pieces.append(marked[place:])
    text, places = _collapsed("".join(pieces))
    marks = [
        Mark(places[start], places[end], *_split(kind))
        for start, end, kind in found
        if places[start] < places[end]
    ]
    return text, sorted(marks, key=lambda mark: (mark.start, -mark.end))


def _split(kind: str) -> tuple[str, str]:
    first, _, rest = kind.partition(" ")
    return first, rest


def _collapsed(text: str) -> tuple[str, list[int]]:
    """`text` with runs of white space as one, none at the ends; where each character went.

    A no-break space in a run stays one.
    """
    kept: list[str] = []
    places: list[int] = []
    pending = ""
    for character in text:
        if character.isspace():
            places.append(len(kept))
            if kept and (not pending or character not in " \n\t\r"):
                pending = " " if character in "\n\t\r" else character
            continue
        if pending:
            kept.append(pending)
            pending = ""
        places.append(len(kept))
        kept.append(character)
    places.append(len(kept))
    return "".join(kept), places
