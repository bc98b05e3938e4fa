"""Numbers in the margin of a manuscript, one for each line: taken off, so that its text is left.

A line-numbered manuscript prints `89 References`, `90 Almende B.V. ...`. Such numbers rise by one from
line to line over whole pages, which neither page numbers nor the labels of a list do: a list's
references mostly take more than one line, and their labels stand with brackets or full stops.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from reno_dspy.build.pdf.line import Line

_NUMBER = re.compile(r"(\d{1,5})(?:\s+(?=\S)|$)")
# Rising steps, as a share of all lines of a document, that show that its lines are numbered.
_NUMBERED = 0.5
# A page or two prove nothing: a short list may have a reference a line.
_FEWEST = 40


def without_line_numbers(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """The lines of all pages, their numbers taken off where the document's lines are numbered."""
    lines = [line for page in pages for line in page]
    numbers = [found for line in lines if (found := _number(line)) is not None]
    rising = sum(b - a == 1 for a, b in pairwise(numbers))
    if rising < max(_FEWEST, _NUMBERED * len(lines)):
        return [list(page) for page in pages]
    return [_stripped(page) for page in pages]


def _number(line: Line) -> int | None:
    found = _NUMBER.match(line.text)
    return int(found[1]) if found else None


def _stripped(page: Sequence[Line]) -> list[Line]:
    """A page without the numbers that count its lines; other numbers at a line's start stay."""
    counted = _counted(page)
    kept = []
    for index, line in enumerate(page):
        found = _NUMBER.match(line.text) if index in counted else None
        text = line.text[found.end() :] if found else line.text
        if text:
            kept.append(_without_margin(line, text) if found else line)
    return kept


def _counted(page: Sequence[Line]) -> set[int]:
    """The indices of lines whose number is one more, or one less, than a neighbour's."""
    numbered = [(i, n) for i, line in enumerate(page) if (n := _number(line)) is not None]
    return {
        index
        for (i, first), (j, second) in pairwise(numbered)
        if second - first == 1
        for index in (i, j)
    }


def _without_margin(line: Line, text: str) -> Line:
    """The line moved to where its text begins, as nearly as its width allows."""
    share = 1 - len(text) / len(line.text)
    return replace(line, text=text, left=line.left + share * (line.right - line.left))
