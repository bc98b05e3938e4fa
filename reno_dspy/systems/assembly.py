"""JATS from the fields that other parsers give: in the order of a citation, not in place.

GROBID and AnyStyle return values without their places in the text, and tidy them on the way. Their values
are kept as they are, so that a score measures them; text fidelity cannot be expected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lxml import etree

from reno_dspy.jats.text import collapse

_RANGE = re.compile(r"\s*(\w+)\s*[-\u2010-\u2015]+\s*(\w+)\s*")


@dataclass(frozen=True)
class Person:
    """One author or editor; a group has its name in `collab` and nothing else."""

    surname: str | None = None
    given_names: str | None = None
    suffix: str | None = None
    collab: str | None = None


@dataclass(frozen=True)
class Identifier:
    """A persistent identifier; `kind` is the pub-id-type (doi, pmid, arxiv, ...)."""

    kind: str
    value: str


def assemble(
    authors: Sequence[Person],
    editors: Sequence[Person],
    fields: Iterable[tuple[str, str | None]],
    identifiers: Iterable[Identifier] = (),
    publication_type: str | None = None,
) -> str:
    """One `mixed-citation`; `fields` are (element name, value) pairs, empty ones left out.

    Raises ValueError for characters that XML cannot hold.
    """
    root = etree.Element("mixed-citation")
    if publication_type:
        root.set("publication-type", publication_type)
    _add_people(root, authors, "author")
    _add_people(root, editors, "editor")
    for name, value in fields:
        _add(root, name, value)
    for identifier in identifiers:
        if identifier.value:
            etree.SubElement(
                root, "pub-id", {"pub-id-type": identifier.kind}
            ).text = identifier.value
    for element in root.iterdescendants():
        # Words of neighbouring elements must not run together in the text.
        element.tail = " " if element.getnext() is not None else None
    text: str = etree.tostring(root, encoding="unicode")
    return text


def page_range(pages: str | None) -> tuple[tuple[str, str | None], ...]:
    """`483-497` as fpage and lpage; anything else (an article number) as fpage alone."""
    found = _RANGE.fullmatch(pages or "")
    if found is None:
        return (("fpage", pages),)
    return (("fpage", found.group(1)), ("lpage", found.group(2)))


def _add_people(root: etree._Element, people: Sequence[Person], role: str) -> None:
    named = [person for person in people if person.surname or person.given_names or person.collab]
    if not named:
        return
    group = etree.SubElement(root, "person-group", {"person-group-type": role})
    for person in named:
        if person.surname or person.given_names:
            name = etree.SubElement(group, "string-name")
            _add(name, "surname", person.surname)
            _add(name, "given-names", person.given_names)
            _add(name, "suffix", person.suffix)
        else:
            _add(group, "collab", person.collab)


def _add(parent: etree._Element, name: str, value: str | None) -> None:
    if value and (text := collapse(value)):
        etree.SubElement(parent, name).text = text
