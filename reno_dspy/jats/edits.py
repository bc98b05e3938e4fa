"""Edits of a reference that move the places of its values along with its text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from reno_dspy.jats.spans import Span

# (start, end, replacement) in the text before the edit.
Edit = tuple[int, int, str]


def apply_edits(text: str, spans: Sequence[Span], edits: Sequence[Edit]) -> tuple[str, list[Span]]:
    """`text` after disjoint `edits`, sorted by place, with `spans` moved along; empty spans go."""
    pieces: list[str] = []
    place = 0
    for start, end, replacement in edits:
        pieces += [text[place:start], replacement]
        place = end
    pieces.append(text[place:])
    moved = [
        replace(s, start=_moved(s.start, edits, True), end=_moved(s.end, edits, False))
        for s in spans
    ]
    return "".join(pieces), [span for span in moved if span.start < span.end]


def disjoint(edits: Iterable[Edit]) -> list[Edit]:
    """`edits` sorted by place, without those that overlap one before them."""
    kept: list[Edit] = []
    for edit in sorted(edits):
        if not kept or edit[0] >= kept[-1][1]:
            kept.append(edit)
    return kept


def _moved(position: int, edits: Iterable[Edit], is_start: bool) -> int:
    """Where a border at `position` is after `edits`; text inserted right at it stays outside."""
    shift = 0
    for start, end, text in edits:
        if end < position or (end == position and (is_start or start < end)):
            shift += len(text) - (end - start)
        elif start < position < end:
            return start + shift + (0 if is_start else len(text))
    return position + shift
