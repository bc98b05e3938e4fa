"""Plain-text references out of an article's markdown: the embedded, rule-based extractor.

The paper (section 2.2) asks an LM and checks that what it gives occurs in the text; `verify` is that
check for any extractor. `extract` finds the list by its heading (or its run of numbers, where it has
none), drops what the page repeats, and cuts the list into references in the way that gives most.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reno_dspy.build.pdf.text import PAGE_BREAK
from reno_dspy.build.references import patterns as rules
from reno_dspy.build.references.cut import (
    Listed,
    continues_list,
    numbered_run,
    quality,
    segment,
    unheaded_list,
    without_captions,
)

# A line repeats on the pages when it stands, digits aside, among a page's outer lines this often.
_EDGE_LINES = 4
_REPEATS = 2
# A heading is shorter than this.
_SHORT = 60
_PAGE_END = re.compile(rf"\n?{PAGE_BREAK}")
# A number alone; with a full stop it is rather the year that ends a reference.
_PAGE_NUMBER = re.compile(
    r"[-–—|\[\s]*(?:p(?:age|ág|\.)?\.?\s*|seite\s*|s\.\s*)?"
    r"\d{1,5}(?:\s*(?:/|of|de|von|di|из)\s*\d{1,5})?[-–—|\]\s]*",
    re.IGNORECASE,
)
# References under a heading that make it the list's; below, the list is looked for without one.
_FEWEST = 3
# A list without a heading must be better than the one under a heading by this factor.
_HEADED = 1.5


def extract(markdown: str) -> list[str]:
    """The references of an article, verbatim but for line breaks and labels, in the list's order."""
    return [reference.text for reference in find_list(markdown)]


def find_list(markdown: str) -> list[Listed]:
    """The references of an article with their labels, in the order of the list."""
    lines = without_furniture(markdown).split("\n")
    headed = max(map(segment, _sections(lines)), key=quality, default=[])
    others = [numbered_run(without_captions(lines)), unheaded_list(lines)]
    best = max(others, key=quality)
    # A heading is worth something, but a list that was cut off may be a small part of what is there.
    if quality(headed) >= max(_FEWEST, quality(best) / _HEADED):
        return headed
    return max([headed, best], key=quality)


def reference_section(markdown: str) -> str:
    """The part of an article that holds its list of references; all of it where none is found.

    What an LM that extracts references should read: without page headers, footers and numbers.
    """
    text = without_furniture(markdown)
    sections = _sections(text.split("\n"))
    best = max(sections, key=lambda section: quality(segment(section)), default=[])
    return "\n".join(best) if quality(segment(best)) > 0 else text


def without_furniture(markdown: str) -> str:
    """The text without lines that pages repeat at their edges, page numbers and form feeds."""
    pages = [page.split("\n") for page in _PAGE_END.split(markdown)]
    seen = Counter(key for page in pages for key in {_masked(page[i]) for i in _edges(page)})
    kept: list[str] = []
    headed = False
    for page in pages:
        edges = set(_edges(page))
        for index, line in enumerate(page):
            # "References 11" may run over the pages of a list; "References" is then its heading, once.
            is_heading = not headed and rules.is_heading(line)
            if is_heading or index not in edges or not _is_furniture(line, seen):
                kept.append(line)
            headed = headed or is_heading
    return "\n".join(kept)


def _edges(page: Sequence[str]) -> list[int]:
    filled = [index for index, line in enumerate(page) if line.strip()]
    return filled[:_EDGE_LINES] + filled[_EDGE_LINES:][-_EDGE_LINES:]


def _masked(line: str) -> str:
    return re.sub(r"[\d\W_]+", " ", line).strip().lower()


def _is_furniture(line: str, seen: Counter[str]) -> bool:
    if not line.strip():
        return False
    if _PAGE_NUMBER.fullmatch(line.strip()):
        return True
    key = _masked(line)
    return len(key) > 3 and seen[key] >= _REPEATS


def _sections(lines: Sequence[str]) -> list[list[str]]:
    """The lines after each heading of a list, up to where the list ends.

    What looks like an end (a note of receipt, a box) may stand inside a list, where a page ends: it is
    left out when references go on after it.
    """
    starts = [i for i, line in enumerate(lines) if rules.is_heading(line)]
    sections = []
    for start, following in zip(starts, [*starts[1:], len(lines)], strict=False):
        section: list[str] = []
        rest = list(lines[start + 1 : following])
        while (end := _first_end(rest)) is not None:
            section += rest[:end]
            rest = _after_paragraph(rest[end:])
            if not continues_list(rest):
                rest = []
        sections.append(section + rest)
    return sections


def _first_end(lines: Sequence[str]) -> int | None:
    return next((i for i in range(len(lines)) if _ends_list(lines, i)), None)


def _after_paragraph(lines: Sequence[str]) -> list[str]:
    gap = next((i for i, line in enumerate(lines) if not line.strip()), len(lines))
    return list(lines[gap:])


def _ends_list(lines: Sequence[str], index: int) -> bool:
    line = lines[index].strip()
    alone = index == 0 or not lines[index - 1].strip()
    if rules.NOTE.match(line):
        return alone or len(line) < _SHORT
    return rules.END.match(line) is not None and (
        (alone or len(line) < _SHORT) and not rules.is_dated(line)
    )


@dataclass(frozen=True)
class Verified:
    """What an extractor gave, checked against the text."""

    references: tuple[str, ...]
    hallucinated: tuple[str, ...]
    repeated: int


def verify(strings: Iterable[str], text: str) -> Verified:
    """Keep strings that occur in `text`, white space and line-end hyphenation folded.

    A string that is given again is counted as repeated; one that does not occur, as hallucinated.
    An article's text is checked with and without its page headers, footers and captions, since a
    reference may run over a page or around a figure.
    """
    plain = without_furniture(text)
    uncaptioned = "\n".join(without_captions(plain.split("\n")))
    folded = [_Folded.of(text), _Folded.of(plain), _Folded.of(uncaptioned)]
    kept: dict[str, str] = {}
    hallucinated: list[str] = []
    repeated = 0
    for string in strings:
        wanted = _Folded.of(string)
        if not wanted.chars:
            continue
        if wanted.chars in kept:
            repeated += 1
        elif any(whole.holds(wanted) for whole in folded):
            kept[wanted.chars] = string.strip()
        else:
            hallucinated.append(string)
    return Verified(tuple(kept.values()), tuple(hallucinated), repeated)


@dataclass(frozen=True)
class _Folded:
    """A text without white space and hyphens, and which hyphen stood before which character."""

    chars: str
    hyphens: dict[int, bool]  # position in `chars` -> whether the hyphen may be a line-end one

    @classmethod
    def of(cls, text: str) -> _Folded:
        chars: list[str] = []
        hyphens: dict[int, bool] = {}
        for token in re.finditer(r"[-\u00ad\u2010](\s*)|\s+|[^\s\u00ad\u2010-]+", text):
            if token.group(1) is not None:
                soft = "\n" in token.group(1) or token.group()[0] == "\u00ad"
                hyphens[len(chars)] = soft
            elif not token.group()[0].isspace():
                chars.extend(token.group())
        return cls("".join(chars), hyphens)

    def holds(self, part: _Folded) -> bool:
        """Whether `part` occurs here, each of its hyphens where one is, none left out mid-line."""
        at = self.chars.find(part.chars)
        while at >= 0:
            inside = range(1, len(part.chars))
            if all(self._agrees(at + i, i in part.hyphens) for i in inside):
                return True
            at = self.chars.find(part.chars, at + 1)
        return False

    def _agrees(self, position: int, hyphenated: bool) -> bool:
        soft = self.hyphens.get(position)
        return soft is True or (soft is not None) == hyphenated
