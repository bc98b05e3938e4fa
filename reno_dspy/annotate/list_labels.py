"""The labels of a numbered list, told from the references that they stand before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import NamedTuple

# `[12]`, `(12)`, `12.`, `12)`, and `12` alone where white space follows; then the reference.
_LABEL = re.compile(r"(\[\d{1,7}\]|\(\d{1,7}\)|\d{1,7}[.)](?!\d)|\d{1,3}(?=\s))\s*(?=\S)")
_YEARS = range(1500, 2100)


class Labelled(NamedTuple):
    """A reference in two: `label` with the white space after it ("" where there is none), and `text`."""

    label: str
    text: str


class _Mark(NamedTuple):
    style: str
    number: int


def split_labels(references: Iterable[str]) -> Iterator[Labelled]:
    """Tell the labels of numbered lists from their references; the two together are the reference.

    A number is a label only where the reference before has the one below it, or the reference after
    the one above it, written alike. One that could be a year must follow another label.
    """
    before: _Mark | None = None
    for reference, following in pairwise(chain(references, [""])):
        found = _LABEL.match(reference)
        mark = _mark(found)
        if mark is not None and not _continues(mark, before):
            starts = mark.number not in _YEARS and _continues(_mark(_LABEL.match(following)), mark)
            mark = mark if starts else None
        before = mark
        end = found.end() if found and mark else 0
        yield Labelled(reference[:end], reference[end:])


def _mark(found: re.Match[str] | None) -> _Mark | None:
    if found is None:
        return None
    label = found.group(1)
    return _Mark(re.sub(r"\d", "", label), int(re.sub(r"\D", "", label)))


def _continues(mark: _Mark | None, before: _Mark | None) -> bool:
    return (
        mark is not None and before is not None and mark == _Mark(before.style, before.number + 1)
    )
