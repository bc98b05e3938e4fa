"""Where the values of a gold annotation stand in the plain text that it belongs to.

Long values go first, so that a short one cannot take a word inside them; then names, part beside part;
then volume, issue and pages together, in reading order and close to each other; then years; at last
remarks, which may be any words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from rapidfuzz import fuzz

from reno_dspy.jats.elements import LOCATORS, NAME_PARTS, SHORT
from reno_dspy.jats.text import folded, folded_places

Place = tuple[int, int]
Placed = tuple["Leaf", int, int]

# Values at least this long are unusual enough to be found by similarity, not only by identity.
FUZZY_LENGTH = 12
FUZZY_SCORE = 85
# A name's other part begins this many characters away at most.
NAME_REACH = 6
CANDIDATES = 12
_LINK = re.compile(r"(?:https?://|www\.|doi:?\s*10\.|\b10\.\d{4,9}/)\S+", re.IGNORECASE)


@dataclass(frozen=True)
class Leaf:
    """A value element of a gold annotation: field, text, place in the gold's own text, person role."""

    field: str
    value: str
    start: int
    end: int
    role: str | None


def place(plaintext: str, leaves: Sequence[Leaf]) -> tuple[list[Placed], list[tuple[str, str]]]:
    """Places of `leaves` in `plaintext`, disjoint, and (field, value) of those that have none."""
    board = _Board(plaintext)
    text = [leaf for leaf in leaves if leaf.field not in SHORT | NAME_PARTS | {"comment"}]
    for leaf in sorted(text, key=lambda leaf: -len(leaf.value)):
        board.put(leaf, board.find(leaf.value))
    _place_names(board, [leaf for leaf in leaves if leaf.field in NAME_PARTS])
    board.protect(match.span() for match in _LINK.finditer(plaintext))
    _place_locators(board, [leaf for leaf in leaves if leaf.field in LOCATORS])
    for leaf in leaves:
        if leaf.field in SHORT and leaf.field not in LOCATORS:
            board.put(leaf, board.find_word(leaf.value))
    for leaf in leaves:
        if leaf.field == "comment":
            board.put(leaf, board.find(leaf.value))
    placed = {id(leaf) for leaf, _, _ in board.placed}
    return board.placed, [(leaf.field, leaf.value) for leaf in leaves if id(leaf) not in placed]


class _Board:
    """The plain text, which of its characters are taken, and what was placed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.placed: list[Placed] = []
        self._taken: list[Place] = []

    def put(self, leaf: Leaf, places: Iterable[Place]) -> Place | None:
        """Place `leaf` at the first free one of `places`."""
        for start, end in places:
            if self.is_free(start, end):
                self.placed.append((leaf, start, end))
                self._taken.append((start, end))
                return start, end
        return None

    def protect(self, places: Iterable[Place]) -> None:
        """Take `places` without placing anything: numbers inside links are no volumes."""
        self._taken += places

    def is_free(self, start: int, end: int) -> bool:
        return all(end <= taken or start >= until for taken, until in self._taken)

    @cached_property
    def _folded(self) -> tuple[str, list[Place]]:
        return folded_places(self.text)

    def find(self, value: str) -> Iterable[Place]:
        """Places of a longer value: verbatim, then by letters and digits alone, then by similarity."""
        yield from self._verbatim(value)
        yield from self._by_letters(value)
        if len(value) >= FUZZY_LENGTH:
            yield from self._similar(value)

    def find_word(self, value: str) -> Iterable[Place]:
        """Places of a short value as a word; a year may carry a letter (`2014a`)."""
        pattern = r"\s*".join(re.escape(part) for part in value.split())
        letter = r"(?![\d])" if value.isdigit() and len(value) == 4 else r"(?![^\W_])"
        for match in re.finditer(rf"(?<![^\W_]){pattern}{letter}", self.text, re.IGNORECASE):
            yield match.span()

    def _verbatim(self, value: str) -> Iterable[Place]:
        value = value.strip()
        start = self.text.find(value)
        while value and start >= 0:
            if _on_word_boundaries(self.text, start, start + len(value)):
                yield start, start + len(value)
            start = self.text.find(value, start + 1)

    def _by_letters(self, value: str) -> Iterable[Place]:
        text, places = self._folded
        wanted = folded(value)
        start = text.find(wanted)
        while wanted and start >= 0:
            begin, end = places[start][0], places[start + len(wanted) - 1][1]
            if _on_word_boundaries(self.text, begin, end):
                yield _with_edges(self.text, begin, end, value)
            start = text.find(wanted, start + 1)

    def _similar(self, value: str) -> Iterable[Place]:
        found = fuzz.partial_ratio_alignment(value, self.text, score_cutoff=FUZZY_SCORE)
        if found is not None and len(value) <= len(self.text):
            yield _to_words(self.text, found.dest_start, found.dest_end)


def _place_names(board: _Board, leaves: Sequence[Leaf]) -> None:
    """Names in order; within one, a part stands beside the part before it."""
    last: Place | None = None
    parts: set[str] = set()
    for leaf in leaves:
        if leaf.field in parts:
            last, parts = None, set()
        places = list(_name_places(board, leaf))
        if last is not None:
            near = last
            places = [place for place in places if _gap(near, place) <= NAME_REACH]
            places.sort(key=lambda place: max(_gap(near, place), 0))
        elif parts:
            places = []
        last = board.put(leaf, places) or last
        parts.add(leaf.field)


def _name_places(board: _Board, leaf: Leaf) -> Iterable[Place]:
    if leaf.field != "given-names":
        yield from board.find(leaf.value)
        return
    words = [re.escape(part) for part in re.findall(r"[^\W_]+", leaf.value)]
    yield from board._verbatim(leaf.value)
    for pattern in _given_patterns(words):
        for match in re.finditer(rf"(?<![^\W_]){pattern}(?![^\W_])\.?", board.text, re.IGNORECASE):
            yield match.span()


def _given_patterns(words: Sequence[str]) -> Iterable[str]:
    """Patterns of given names, in full, then as initials (gold often has what the print abbreviates)."""
    if words:
        gap = r"[\s.\-\u2010\u2011]*"
        yield gap.join(words)
        initials = [letter for word in words for letter in (word if word.isupper() else word[0])]
        yield gap.join(re.escape(letter) for letter in initials)


def _place_locators(board: _Board, leaves: Sequence[Leaf]) -> None:
    """Volume, issue and pages: the free places that are in this order and closest together."""
    ordered = sorted(leaves, key=lambda leaf: LOCATORS.index(leaf.field))
    options = [_locator_places(board, leaf, ordered) for leaf in ordered]
    paths: list[tuple[float, tuple[Place | None, ...]]] = [(0.0, ())]
    for places in options:
        best: dict[Place | None, tuple[float, tuple[Place | None, ...]]] = {}
        for cost, path in paths:
            before = next((place for place in reversed(path) if place), None)
            for option in (*places, None):
                step = cost + _step_cost(before, option)
                key = option or before
                if option is not None and any(p and _gap(p, option) < 0 for p in path):
                    continue
                if key not in best or step < best[key][0]:
                    best[key] = (step, (*path, option))
        paths = list(best.values())
    for leaf, found in zip(ordered, min(paths)[1] if ordered else (), strict=True):
        board.put(leaf, [found] if found else [])


def _locator_places(board: _Board, leaf: Leaf, ordered: Sequence[Leaf]) -> list[Place]:
    places = [place for place in board.find_word(leaf.value) if board.is_free(*place)]
    if leaf.field == "lpage":
        fpages = [other.value for other in ordered if other.field == "fpage"]
        places += _short_last_pages(board, fpages, leaf.value)
    return places[:CANDIDATES]


def _short_last_pages(board: _Board, fpages: Sequence[str], lpage: str) -> Iterable[Place]:
    """Places of `9` in `200-9`, where the gold says 209."""
    for fpage in fpages:
        pattern = rf"(?<![^\W_]){re.escape(fpage)}\s*[-\u2010-\u2015]+\s*(\w+)(?![^\W_])"
        for match in re.finditer(pattern, board.text):
            short = match.group(1)
            if len(short) < len(lpage) and lpage.endswith(short):
                yield match.span(1)


def _step_cost(before: Place | None, option: Place | None) -> float:
    if option is None:
        return 500.0
    if before is None:
        return 0.0
    gap = option[0] - before[1]
    return float(gap if gap >= 0 else 100 - gap)


def _gap(one: Place, other: Place) -> int:
    """Characters between two places; negative where they overlap."""
    return max(other[0] - one[1], one[0] - other[1])


def _on_word_boundaries(text: str, start: int, end: int) -> bool:
    before = start > 0 and text[start - 1].isalnum() and text[start].isalnum()
    after = end < len(text) and text[end].isalnum() and text[end - 1].isalnum()
    return not (before or after) or not text[start].isascii()


def _with_edges(text: str, start: int, end: int, value: str) -> Place:
    """Widen by punctuation that the value itself begins or ends with."""
    while start > 0 and value and not value[0].isalnum() and text[start - 1] == value[0]:
        start, value = start - 1, value[1:]
    while end < len(text) and value and not value[-1].isalnum() and text[end] == value[-1]:
        end, value = end + 1, value[:-1]
    return start, end


def _to_words(text: str, start: int, end: int) -> Place:
    """Widen to whole words, without white space or separators at the edges."""
    while start > 0 and text[start - 1].isalnum() and text[start : start + 1].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum() and text[end - 1].isalnum():
        end += 1
    while start < end and (text[start].isspace() or text[start] in ".,;:"):
        start += 1
    while end > start and (text[end - 1].isspace() or text[end - 1] in ",;:"):
        end -= 1
    return start, end
