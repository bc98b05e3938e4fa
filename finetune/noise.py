"""Defects of text that came from PDF, put into training rows so that a model has seen them.

An edit changes the reference and moves the gold's spans with it: the target still repeats the
reference to the character.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from finetune.recipe import Noise
from reno_dspy.projection import Span

# (start, end, replacement) in the original text.
Edit = tuple[int, int, str]
_LABELLED = re.compile(r"\s*[\[(]?\d+[\].)]")
_LABELS = ("{}. ", "[{}] ", "{} ", "({}) ", "{}.")


def add_noise(
    plaintext: str, spans: Sequence[Span], noise: Noise, rng: random.Random
) -> tuple[str, list[Span]]:
    """The reference with defects drawn by `rng`, and its spans where they are now."""
    edits: list[Edit] = []
    if rng.random() < noise.lost_space:
        edits += [(m.end() - 1, m.end(), "") for m in _draw(r"[.,;:)] ", plaintext, rng, 2)]
    if rng.random() < noise.hyphenation:
        # Between two lower-case letters, four or more on each side.
        places = _draw(r"(?<=[^\W\d_A-Z]{4})(?=[^\W\d_A-Z]{4})", plaintext, rng, 1)
        edits += [(m.start(), m.start(), "- ") for m in places]
    if rng.random() < noise.ligature:
        found = re.finditer("f[il]", plaintext)
        edits += [(m.start(), m.end(), {"fi": "ﬁ", "fl": "ﬂ"}[m.group()]) for m in found]
    if rng.random() < noise.label and not _LABELLED.match(plaintext):
        edits.append((0, 0, rng.choice(_LABELS).format(rng.randint(1, 120))))
    return apply_edits(plaintext, spans, _disjoint(edits))


def apply_edits(
    plaintext: str, spans: Sequence[Span], edits: Sequence[Edit]
) -> tuple[str, list[Span]]:
    """`plaintext` after disjoint `edits`, sorted by place, with `spans` moved along."""
    pieces: list[str] = []
    place = 0
    for start, end, text in edits:
        pieces += [plaintext[place:start], text]
        place = end
    pieces.append(plaintext[place:])
    moved = [
        replace(s, start=_moved(s.start, edits, True), end=_moved(s.end, edits, False))
        for s in spans
    ]
    return "".join(pieces), [span for span in moved if span.start < span.end]


def _moved(position: int, edits: Iterable[Edit], is_start: bool) -> int:
    """Where a border at `position` is after `edits`; text inserted right at it stays outside."""
    shift = 0
    for start, end, text in edits:
        if end < position or (end == position and (is_start or start < end)):
            shift += len(text) - (end - start)
        elif start < position < end:
            return start + shift + (0 if is_start else len(text))
    return position + shift


def _draw(pattern: str, text: str, rng: random.Random, most: int) -> list[re.Match[str]]:
    found = list(re.finditer(pattern, text))
    return rng.sample(found, min(most, len(found)))


def _disjoint(edits: list[Edit]) -> list[Edit]:
    kept: list[Edit] = []
    for edit in sorted(edits):
        if not kept or edit[0] >= kept[-1][1]:
            kept.append(edit)
    return kept
