"""Works held apart: those that measuring uses, and a share that is never trained on.

A work is known by its title, letters and digits only, and by its DOI. What side it is on follows from
its title alone, so that other runs, with other seeds, hold the same works apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from reno_dspy.data.dataset import Row, load
from reno_dspy.jats.citation import MalformedXml, parse, read_values
from reno_dspy.jats.text import folded
from reno_dspy.synthesize.metadata import Item

# A title of so many letters is not in another work's reference by chance.
_LONG = 20
_TITLES = ("article-title", "chapter-title", "data-title")
_DOI = re.compile(r"10\.\d{4,9}/[^\s<>\"]+")


class HeldApart:
    """The works that some references cite."""

    def __init__(self, rows: Iterable[Row]) -> None:
        """Hold apart what `rows` cite, by their texts and annotations."""
        self._titles: set[str] = set()
        self._dois: set[str] = set()
        texts: list[str] = []
        for row in rows:
            self._titles |= _titles(row.xml)
            self._dois |= _dois(row)
            texts.append(_key(row.plaintext or ""))
        self._whole = frozenset(texts) - {""}
        self._texts = "\n".join(texts)

    def __contains__(self, item: Item) -> bool:
        """Whether `item` is one of these works."""
        key = _key(item.csl["title"])
        if key in self._titles or _doi(item.csl.get("DOI", "")) in self._dois:
            return True
        return len(key) >= _LONG and key in self._texts

    def cited_by(self, row: Row) -> bool:
        """Whether the reference `row` cites one of these works."""
        return bool(
            self._titles & _titles(row.xml)
            or self._dois & _dois(row)
            or _key(row.plaintext or "") in self._whole
        )


def held_apart(sources: Sequence[str]) -> HeldApart:
    """The works cited in `sources`: data sets or files, each perhaps with `:SPLIT` at its end.

    Raises InputError for one that cannot be read.
    """
    rows: list[Row] = []
    for source in sources:
        path, _, split = source.rpartition(":")
        named = path and split.isidentifier()
        rows += load(path if named else source, split if named else None).rows
    return HeldApart(rows)


def _titles(xml: str) -> set[str]:
    """The titles of the works that an annotation cites; that of a journal is not one."""
    try:
        found = read_values(parse(xml), (*_TITLES, "source"))
    except MalformedXml:
        return set()
    works = [value for name in _TITLES for value in found[name]] or list(found["source"])
    return {key for value in works if (key := _key(value))}


def _dois(row: Row) -> set[str]:
    return {_doi(found) for found in _DOI.findall(f"{row.plaintext} {row.xml}")}


def _key(text: str) -> str:
    return folded(text.replace("&", " and "))


def _doi(text: str) -> str:
    return text.rstrip(".,;:)]").casefold()
