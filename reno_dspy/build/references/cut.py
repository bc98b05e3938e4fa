"""A list's lines cut into references: by number, by gap, by hanging indent or by author.

Which of these a list follows is not known beforehand; each is tried and the one whose pieces look
most like references is taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reno_dspy.build.pdf.text import INDENT
from reno_dspy.build.references import patterns as rules

_SHORTEST, _LONGEST = 25, 900
# Numbers of a list go up by one; a number that the PDF lost may be stepped over.
_STEP = 2
_FEWEST_NUMBERED = 4
# Lines from one reference to the next in a list that has no heading.
_DENSE = 10
# References after a supposed end of the list that show that it goes on.
_FEWEST_LEFT = 3


@dataclass(frozen=True)
class Listed:
    """A reference of a list: `text`, and the `label` that stood before it ("" where there is none)."""

    text: str
    label: str = ""

    @property
    def printed(self) -> str:
        """The reference as the list prints it."""
        return f"{self.label} {self.text}" if self.label else self.text


def _listed(piece: str) -> Listed:
    """The reference in `piece` of a numbered list, its label taken off."""
    found = rules.LABEL.match(piece)
    return Listed(piece[found.end() :], found.group().strip()) if found else Listed(piece)


def segment(section: Sequence[str]) -> list[Listed]:
    """The references in a section's lines (empty lines and indents as `pdf_text` gives them)."""
    lines = [line for line in section if not rules.CAPTION.match(line.strip())]
    ways: list[Callable[[Sequence[str]], list[Listed]]] = [
        numbered_run,
        _by_gap,
        _by_indent,
        _by_author,
        _by_gap_or_author,
    ]
    return max((_trimmed(way(lines)) for way in ways), key=quality)


def _trimmed(pieces: list[Listed]) -> list[Listed]:
    """Without what stands before the first reference and after the last one."""
    good = [index for index, piece in enumerate(pieces) if looks_good(piece.text)]
    return pieces[good[0] : good[-1] + 1] if good else []


def continues_list(lines: Sequence[str]) -> bool:
    """Whether lines after a supposed end of a list hold references still (not, say, a biography)."""
    pieces = segment(lines)
    authored = [piece for piece in pieces if rules.AUTHOR_START.match(piece.text)]
    return quality(pieces) >= _FEWEST_LEFT and len(authored) > len(pieces) / 2


def quality(references: Sequence[Listed]) -> float:
    """How much pieces look like references: the good ones less the bad ones."""
    return sum(1.0 if looks_good(reference.text) else -0.7 for reference in references)


def looks_good(reference: str) -> bool:
    """Whether a piece could be one whole reference: its start, its length, and a year in it."""
    return (
        _SHORTEST <= len(reference) <= _LONGEST
        and rules.START.match(reference) is not None
        and rules.is_dated(reference)
    )


def numbered_run(lines: Sequence[str]) -> list[Listed]:
    """The references of the best run of rising labels (`1.`, `[1]`, `(1)`, `1 `), or none."""
    labels = [_label(line) for line in lines]
    best: list[int] = []
    starts = [i for i, label in enumerate(labels) if label and label[1] == 1]
    for start in starts:
        run = _rising(labels, start)
        if len(run) >= len(best):
            best = run
    if len(best) < _FEWEST_NUMBERED:
        return []
    pieces = [lines[a:b] for a, b in zip(best, [*best[1:], len(lines)], strict=True)]
    pieces[-1] = _until_gap(pieces[-1])
    return [_listed(rules.join(piece)) for piece in pieces]


def _rising(labels: Sequence[tuple[str, int] | None], start: int) -> list[int]:
    """Indices of the lines whose labels of one style count up from `start`."""
    first = labels[start]
    assert first is not None
    style, number = first
    run = [start]
    for index in range(start + 1, len(labels)):
        label = labels[index]
        if label is None or label[0] != style:
            continue
        if number < label[1] <= number + (1 if style.strip() == "" else _STEP):
            run.append(index)
            number = label[1]
    return run


def _label(line: str) -> tuple[str, int] | None:
    match = rules.LABEL.match(line.strip())
    if match is None or not line.strip()[match.end() :]:
        return None
    return match["open"] + match["close"], int(match["number"])


def _until_gap(lines: Sequence[str]) -> Sequence[str]:
    """The last reference of a list ends at the first gap after a line that can be a last one."""
    for index, line in enumerate(lines):
        if not line.strip() and index and not rules.ends_open(lines[index - 1]):
            return lines[:index]
    return lines


def _by_gap(lines: Sequence[str]) -> list[Listed]:
    return _cut(lines, lambda above, line: not above.strip())


def _by_indent(lines: Sequence[str]) -> list[Listed]:
    return _cut(lines, lambda above, line: not line.startswith(INDENT))


def _by_author(lines: Sequence[str]) -> list[Listed]:
    def starts(above: str, line: str) -> bool:
        return rules.AUTHOR_START.match(line.strip()) is not None

    return _cut(lines, starts)


def _by_gap_or_author(lines: Sequence[str]) -> list[Listed]:
    """For lists whose leading changes on the way, or that lose their gaps at the end of a page."""

    def starts(above: str, line: str) -> bool:
        if not above.strip():
            return True
        closed = above.rstrip()[-1] in ".)]" or above.rstrip()[-1].isdigit()
        return closed and rules.AUTHOR_START.match(line.strip()) is not None

    return _cut(lines, starts)


def unheaded_list(lines: Sequence[str]) -> list[Listed]:
    """The references of the longest dense stretch of lines that begin like one; maybe none."""
    starts = [
        index
        for index, line in enumerate(lines)
        if rules.AUTHOR_START.match(line) and rules.is_dated(" ".join(lines[index : index + 3]))
    ]
    stretches: list[list[int]] = []
    for index in starts:
        if not stretches or index - stretches[-1][-1] > _DENSE:
            stretches.append([])
        stretches[-1].append(index)
    longest = max(stretches, key=len, default=[])
    if len(longest) < _FEWEST_NUMBERED:
        return []
    return segment(lines[longest[0] : longest[-1] + _DENSE])


def _cut(lines: Sequence[str], starts: Callable[[str, str], bool]) -> list[Listed]:
    """Cut before each line that `starts(line above, line)` and that can begin a reference."""
    pieces: list[list[str]] = []
    above, last_filled = "", ""
    for line in lines:
        if line.strip():
            begins = starts(above, line) and rules.START.match(line.strip()) is not None
            if not pieces or (begins and not rules.ends_open(last_filled)):
                pieces.append([])
            pieces[-1].append(line)
            last_filled = line
        above = line
    whole = [*pieces[:-1], *map(_until_gap, pieces[-1:])]
    return [Listed(re.sub(r"^[•·▪*]\s*", "", rules.join(piece))) for piece in whole]
