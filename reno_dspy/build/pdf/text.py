"""The text of a PDF in reading order, one line a printed line, through pypdfium2.

Columns are put left before right; within one, text stays in the order in which the PDF draws it, which
for typeset articles is the order of reading (measured in docs/log/2026-11.md). Three things that a reader
of reference lists needs and plain text loses are kept: a form feed before each page but the first, an
empty line where the leading grows (paragraphs), and two spaces before a line that starts right of its
column's edge (hanging indents).
"""

from __future__ import annotations

import bisect
import ctypes
import itertools
import math
import re
import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

import pypdfium2
import pypdfium2.raw as pdfium

from reno_dspy.build.pdf.line import Line
from reno_dspy.build.pdf.line_numbers import without_line_numbers

PAGE_BREAK = "\f"
INDENT = "  "
# pdfium puts U+FFFE where a word is hyphenated at the end of a line, in place of hyphen and break.
_SOFT_BREAK = "\ufffe"
_LINE_END = re.compile(rf"\r\n|\n|\r|{_SOFT_BREAK}")
# Jumps of the base line, in points, that a superscript cannot make: another line was glued on.
_GLUED_JUMP = 6.0
# A gap between base lines is a paragraph's when it exceeds the column's usual one by this factor.
_PARAGRAPH_GAP = 1.3
# A line is indented when it starts this share of the usual leading right of the column's edge.
_INDENT_SHARE = 0.35

_WIDE = re.compile("[\U00010000-\U0010ffff]")
_NOT_XML = re.compile("[^\t\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LABEL = re.compile(r"[\[(]?\d{1,3}[\].)]{0,2}")
_WORD = re.compile(r"\S+")
# Degrees: synthetic italics lean by 11 to 19; what leans more runs along the margin.
_SLANT = 25
# Points: how far base lines of one printed line may differ, and how far its label stands from it.
_SAME_BASE = 2.5
_LABEL_GAP = 40.0
# Lines that make a column, rather than a note or a caption beside one.
_COLUMN_LINES = 5
# Points that a list's hanging indent has at most.
_LONGEST_INDENT = 40.0


def text_of_pdf(stream: BinaryIO) -> str:
    """The whole text of a PDF. Raises pypdfium2.PdfiumError when it cannot be opened."""
    document = pypdfium2.PdfDocument(stream)
    try:
        return "\n".join(_pages(document))
    finally:
        document.close()


def _pages(document: pypdfium2.PdfDocument) -> Iterator[str]:
    pages = without_line_numbers([_lines(document, number) for number in range(len(document))])
    for number, lines in enumerate(pages):
        if text := layout(lines):
            yield text if number == 0 else PAGE_BREAK + text


def _lines(document: pypdfium2.PdfDocument, number: int) -> list[Line]:
    """The lines of a page; none of one that cannot be loaded, which must not lose the others."""
    try:
        page = document[number]
        textpage = page.get_textpage()
    except pypdfium2.PdfiumError:
        return []
    try:
        return lines_of_page(textpage)
    finally:
        textpage.close()
        page.close()


def lines_of_page(textpage: pypdfium2.PdfTextPage) -> list[Line]:
    """The lines of a page in drawing order, glued ones taken apart, split labels put together.

    Some journals draw the numbers of a list apart from its text (before or after it): a number that
    stands alone goes to the line that starts right of it on the same base line.
    """
    lines = _downwards([line for line in _raw_lines(textpage) if abs(line.angle) <= _SLANT])
    labels = {index for index, line in enumerate(lines) if _LABEL.fullmatch(line.text)}
    for index in sorted(labels):
        target = _labelled_by(lines[index], lines, labels)
        if target is None:
            labels.discard(index)
        else:
            text = f"{lines[index].text} {lines[target].text}"
            lines[target] = replace(lines[target], text=text, left=lines[index].left)
    return [line for index, line in enumerate(lines) if index not in labels]


def _downwards(lines: list[Line]) -> list[Line]:
    """The lines, turned round if most go up: so PDFium gives those of some turned pages."""
    up = sum(1 if above.base < line.base else -1 for above, line in itertools.pairwise(lines))
    return lines[::-1] if up > 0 else lines


def layout(lines: list[Line]) -> str:
    """Text with an empty line between paragraphs and two spaces before indented lines."""
    out: list[str] = []
    for run in _left_before_right(list(_column_runs(lines))):
        leading = _usual_leading(run)
        edge = _left_edge(run)
        if out and out[-1]:
            out.append("")
        for above, line in zip([None, *run], run, strict=False):
            if above is not None and above.base - line.base > _PARAGRAPH_GAP * leading:
                out.append("")
            indented = line.left - edge > _INDENT_SHARE * leading
            out.append((INDENT if indented else "") + line.text.strip())
    return "\n".join(out)


def _raw_lines(textpage: pypdfium2.PdfTextPage) -> Iterator[Line]:
    """All lines of a page, in the frame in which most of its letters stand upright."""
    text = _Text(textpage)
    text.turn = _usual_turn(text)
    start = 0
    for end in _LINE_END.finditer(text.chars):
        hyphen = "-" if end.group() == _SOFT_BREAK else ""
        yield from _located(text, start, end.start(), hyphen)
        start = end.end()
    yield from _located(text, start, len(text.chars), "")


def _usual_turn(text: _Text) -> int:
    """By how many quarters most letters of the page are turned: content may be, not just the page."""
    turns: Counter[int] = Counter()
    for found in _WORD.finditer(text.chars):
        turns[round(text.angle(text.number(found.start())) / 90) % 4] += found.end() - found.start()
    return turns.most_common(1)[0][0] if turns else 0


class _Text:
    """A page's characters and where each stands, in a frame turned clockwise by `turn` quarters."""

    def __init__(self, textpage: pypdfium2.PdfTextPage) -> None:
        self.chars = textpage.get_text_range()
        self._page = textpage.raw
        self.turn = 0
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._box = [ctypes.c_double() for _ in range(4)]
        # pdfium counts UTF-16 units; letters beyond the basic plane (mathematics) count twice.
        self._wide = [found.start() for found in _WIDE.finditer(self.chars)]

    def number(self, index: int) -> int:
        """The number that pdfium gives the character at `index`; the other methods take it."""
        shift = bisect.bisect_left(self._wide, index) if self._wide else 0
        number: int = pdfium.FPDFText_GetCharIndexFromTextIndex(self._page, index + shift)
        return number

    def origin(self, number: int) -> tuple[float, float]:
        """Left end and base line of a character, in points."""
        pdfium.FPDFText_GetCharOrigin(self._page, number, self._x, self._y)
        x, y = self._x.value, self._y.value
        return ((x, y), (-y, x), (-x, -y), (y, -x))[self.turn]

    def angle(self, number: int) -> int:
        """The angle of a character in degrees, clockwise, from -180 to 179."""
        angle = round(math.degrees(pdfium.FPDFText_GetCharAngle(self._page, number)))
        return (angle - 90 * self.turn + 180) % 360 - 180

    def right(self, number: int) -> float:
        """The right edge of a character, in points."""
        pdfium.FPDFText_GetCharBox(self._page, number, *self._box)
        left, right, bottom, top = (edge.value for edge in self._box)
        return (right, -bottom, -left, top)[self.turn]


def _located(text: _Text, start: int, end: int, hyphen: str) -> Iterator[Line]:
    chars = text.chars
    while start < end and chars[start].isspace():
        start += 1
    while end > start and chars[end - 1].isspace():
        end -= 1
    if start == end:
        return
    first_number, last_number = text.number(start), text.number(end - 1)
    (left, base), (last, last_base) = text.origin(first_number), text.origin(last_number)
    if abs(base - last_base) > _GLUED_JUMP or last < left:
        cut = _glued_at(text, start, end)
        if cut is not None:
            yield from _located(text, start, cut, "")
            yield from _located(text, cut, end, hyphen)
            return
    line = _clean(chars[start:end]) + hyphen
    yield Line(line, left, text.right(last_number), base, text.angle(first_number))


def _glued_at(text: _Text, start: int, end: int) -> int | None:
    base = text.origin(text.number(start))[1]
    for index in range(start + 1, end):
        if text.chars[index].isspace():
            continue
        if abs(text.origin(text.number(index))[1] - base) > _GLUED_JUMP:
            return index
    return None


def _clean(text: str) -> str:
    """Drop what XML 1.0 cannot hold: control characters and lone surrogates of broken font maps."""
    return _NOT_XML.sub("", text)


def _labelled_by(label: Line, lines: list[Line], labels: set[int]) -> int | None:
    """The index of the nearest line right of `label` on its base line; None if there is none."""
    beside = [
        (line.left - label.right, index)
        for index, line in enumerate(lines)
        if index not in labels
        and abs(line.base - label.base) < _SAME_BASE
        and 0 <= line.left - label.right < _LABEL_GAP
    ]
    return min(beside)[1] if beside else None


def _column_runs(lines: list[Line]) -> Iterator[list[Line]]:
    """Split lines where the text jumps up or aside: each run is one column's stretch."""
    run: list[Line] = []
    for line in lines:
        if run and not (-2 < run[-1].base - line.base < 60 and _overlap(run[-1], line)):
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def _left_before_right(runs: list[list[Line]]) -> list[list[Line]]:
    """Columns drawn from right to left, put in the order in which they are read."""
    ordered: list[list[Line]] = []
    for run in runs:
        place = len(ordered)
        while place and len(run) >= _COLUMN_LINES and _is_left_column_of(run, ordered[place - 1]):
            place -= 1
        ordered.insert(place, run)
    return ordered


def _is_left_column_of(run: list[Line], other: list[Line]) -> bool:
    aside = max(line.right for line in run) < min(line.left for line in other)
    beside = run[-1].base < other[0].base and other[-1].base < run[0].base
    return aside and beside


def _overlap(one: Line, other: Line) -> bool:
    return min(one.right, other.right) > max(one.left, other.left) - 30


def _usual_leading(run: list[Line]) -> float:
    gaps = [a.base - b.base for a, b in itertools.pairwise(run) if a.base - b.base > 2]
    # The lower quartile: in a list of two-line references every other gap is a paragraph's.
    return statistics.quantiles(gaps, n=4)[0] if len(gaps) > 1 else 12.0


def _left_edge(run: list[Line]) -> float:
    """The left-most edge that two lines of the run share, or of a line a hanging indent left of it."""
    lefts = sorted(line.left for line in run)
    shared = next((a for a, b in itertools.pairwise(lefts) if b - a <= 2), lefts[0])
    return next(left for left in lefts if shared - left <= _LONGEST_INDENT)
