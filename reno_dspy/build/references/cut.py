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
# References after a supposed end of the list that show that it goes on, and lines to look for them in.
_FEWEST_LEFT = 3
_GOES_ON = 200
_CAPTION_LINES = 15
# Runs of labels that are looked at: the longest ones, of which the best is not always the longest.
_RUNS = 5
# Several works under one number: `a) ...; b) ...`, in this order.
_PART = re.compile(r"(?:(?<=[;.,])\s+|\A)\(?([a-z])\)\s*(?=\S)")


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
    piece = rules.without_link_labels(piece)
    found = rules.LABEL.match(piece)
    return Listed(piece[found.end() :], found.group().strip()) if found else Listed(piece)


def segment(section: Sequence[str]) -> list[Listed]:
    """The references in a section's lines (empty lines and indents as `pdf_text` gives them)."""
    lines = without_captions(section)
    ways: list[Callable[[Sequence[str]], list[Listed]]] = [
        numbered_run,
        _by_gap,
        _by_indent,
        _by_author,
        _by_gap_or_author,
    ]
    return max((_trimmed(way(lines)) for way in ways), key=quality)


def without_captions(lines: Sequence[str]) -> list[str]:
    """The lines without captions of figures and tables, which may stand in the middle of a list.

    A caption is its whole paragraph, if that is short and nothing in it looks like a reference; else
    its first line.
    """
    kept: list[str] = []
    skip = 0
    for index, line in enumerate(lines):
        if index < skip:
            continue
        if rules.CAPTION.match(line.strip()):
            skip = _after_caption(lines, index)
        else:
            kept.append(line)
    return kept


def _after_caption(lines: Sequence[str], start: int) -> int:
    for index in range(start + 1, min(start + _CAPTION_LINES, len(lines))):
        line = lines[index].strip()
        if not line:
            return index
        if rules.LABEL.match(line) or rules.starts_with_author(line):
            break
    return start + 1


def _trimmed(pieces: list[Listed]) -> list[Listed]:
    """Without what stands before the first reference and after the last one."""
    good = [index for index, piece in enumerate(pieces) if looks_good(piece.text)]
    return pieces[good[0] : good[-1] + 1] if good else []


def continues_list(lines: Sequence[str]) -> bool:
    """Whether lines after a supposed end of a list hold references still (not, say, a biography)."""
    # What follows at once decides; all of the rest would be cut again for each supposed end.
    pieces = segment(lines[:_GOES_ON])
    authored = [piece for piece in pieces if rules.starts_with_author(piece.text)]
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
    """The references of the best run of rising labels (`1.`, `[1]`, `(1)`, `1 `), or none.

    An article may count other things as well, its affiliations for one: of the longest runs, the one
    whose pieces look most like references is taken.
    """
    labels = _of_one_style([_label(line) for line in lines])
    following, lengths = _runs(labels)
    starts = [i for i, label in enumerate(labels) if label and label[1] == 1]
    longest = sorted(starts, key=lambda i: (-lengths[i], -i))[:_RUNS]
    runs = [_chain(start, following) for start in longest if lengths[start] >= _FEWEST_NUMBERED]
    return max((_pieces(lines, run) for run in runs), key=quality, default=[])


def _pieces(lines: Sequence[str], run: Sequence[int]) -> list[Listed]:
    spans = zip(run, [*run[1:], len(lines)], strict=True)
    joined = [_joined(lines[a:b], is_last=b == len(lines)) for a, b in spans]
    return [part for piece in joined for part in _parts(_listed(piece))]


def _joined(piece: Sequence[str], *, is_last: bool) -> str:
    """A piece as one string. One too long for a reference ran into what interrupts the list."""
    whole = rules.join(piece)
    return rules.join(_until_gap(piece)) if is_last or len(whole) > _LONGEST else whole


def _of_one_style(labels: Sequence[tuple[str, int] | None]) -> list[tuple[str, int] | None]:
    """`labels`, a bare number between `3.` and `5.` taken for the `4.` that somebody meant."""
    found = [index for index, label in enumerate(labels) if label]
    levelled = list(labels)
    for before, index, after in zip(found, found[1:], found[2:], strict=False):
        first, label, last = levelled[before], labels[index], labels[after]
        assert first is not None
        assert label is not None
        assert last is not None
        numbers = first[1], label[1], last[1]
        if first[0] == last[0] and numbers == (label[1] - 1, label[1], label[1] + 1):
            levelled[index] = (first[0], label[1])
    return levelled


def _parts(reference: Listed) -> list[Listed]:
    """The works under one number: `a) ...; b) ...` are two. The first keeps the number."""
    cuts: list[re.Match[str]] = []
    for found in _PART.finditer(reference.text):
        if found[1] == chr(ord("a") + len(cuts)):
            cuts.append(found)
    if len(cuts) < 2 or cuts[0].start() > 0:
        return [reference]
    ends = [found.start() for found in cuts[1:]] + [len(reference.text)]
    texts = [
        reference.text[found.end() : end].rstrip(" ;")
        for found, end in zip(cuts, ends, strict=True)
    ]
    return [Listed(texts[0], reference.label), *map(Listed, texts[1:])]


def _runs(labels: Sequence[tuple[str, int] | None]) -> tuple[list[int | None], list[int]]:
    """For each line the next one of its run of labels, and how many the run has from there on.

    The next label is of the same style and counts one up, or as far as `_STEP`, since a PDF may lose
    one; bare numbers, of which a text has many, must count one up. Read from the end, every line's run
    is known from those after it, so that this takes one pass.
    """
    following: list[int | None] = [None] * len(labels)
    lengths = [0] * len(labels)
    seen: dict[tuple[str, int], int] = {}
    for index in range(len(labels) - 1, -1, -1):
        label = labels[index]
        if label is None:
            continue
        style, number = label
        steps = range(1, (1 if style.strip() == "" else _STEP) + 1)
        nexts = [seen[style, number + step] for step in steps if (style, number + step) in seen]
        following[index] = min(nexts, default=None)
        lengths[index] = 1 + (lengths[min(nexts)] if nexts else 0)
        seen[label] = index
    return following, lengths


def _chain(start: int, following: Sequence[int | None]) -> list[int]:
    run = [start]
    while (after := following[run[-1]]) is not None:
        run.append(after)
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
        return rules.starts_with_author(line)

    return _cut(lines, starts)


def _by_gap_or_author(lines: Sequence[str]) -> list[Listed]:
    """For lists whose leading changes on the way, or that lose their gaps at the end of a page."""

    def starts(above: str, line: str) -> bool:
        if not above.strip():
            return True
        closed = above.rstrip()[-1] in ".)]" or above.rstrip()[-1].isdigit()
        return closed and rules.starts_with_author(line)

    return _cut(lines, starts)


def unheaded_list(lines: Sequence[str]) -> list[Listed]:
    """The references of the longest dense stretch of lines that begin like one; maybe none."""
    starts = [
        index
        for index, line in enumerate(lines)
        if not line.startswith(INDENT)
        and rules.starts_with_author(line)
        and rules.is_dated(" ".join(lines[index : index + 3]))
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
    joined = (rules.without_link_labels(rules.join(piece)) for piece in whole)
    return [Listed(re.sub(r"^[•·▪*]\s*", "", piece)) for piece in joined]
