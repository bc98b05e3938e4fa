"""GROBID's TEI `biblStruct` as JATS.

    title[@level=a]   article-title      title[@level=j|m]   source       title[@level=s]   series
    persName          surname (surname), given-names (all forenames)
    date/@when        year               biblScope/@unit     volume, issue, page

TEI P5, GROBID's schema Grobid.xsd. A title of level `a` is always an article-title: GROBID uses one
label for articles and chapters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reno_dspy.jats.citation import Element, name_of, parse, text_of
from reno_dspy.systems.assembly import Identifier, Person, assemble, page_range

# Of the level of the source's title.
_TYPES = {"j": "journal", "m": "book"}


def citation(tei: str) -> str:
    """The `mixed-citation` of one answer of `processCitation`; "" (nothing found) gives an empty one.

    Raises MalformedXml, and ValueError when there is not exactly one `biblStruct`.
    """
    found = citations(tei) if tei.strip() else [assemble((), (), ())]
    if len(found) != 1:
        raise ValueError(f"{len(found)} biblStruct elements instead of one")
    return found[0]


def citations(tei: str) -> list[str]:
    """The `mixed-citation` of every `biblStruct`, in order. Raises MalformedXml."""
    root = parse(tei)
    return [_to_jats(element) for element in root.iter() if name_of(element) == "biblStruct"]


def _to_jats(bibl: Element) -> str:
    titles = {title.get("level", ""): text_of(title) for title in _all(bibl, "title")}
    source = titles.get("j") or titles.get("m")
    fields = [
        ("article-title", titles.get("a")),
        ("source", source),
        ("series", titles.get("s")),
        ("year", _year(bibl)),
        ("volume", _scope(bibl, "volume")),
        ("issue", _scope(bibl, "issue")),
        *_pages(bibl),
        ("edition", _first(bibl, "edition")),
        ("conf-name", _first(bibl, "meeting")),
        ("publisher-name", _first(bibl, "publisher")),
        ("publisher-loc", _first(bibl, "pubPlace")),
        *(("uri", link.get("target")) for link in _all(bibl, "ptr")),
    ]
    identifiers = [
        Identifier((element.get("type") or "other").lower(), text_of(element))
        for element in _all(bibl, "idno")
    ]
    level = next((level for level in _TYPES if titles.get(level)), "")
    return assemble(
        _people(bibl, "author"), _people(bibl, "editor"), fields, identifiers, _TYPES.get(level)
    )


def _all(element: Element, name: str) -> Iterator[Element]:
    return (inner for inner in element.iter() if name_of(inner) == name)


def _first(bibl: Element, name: str) -> str | None:
    element = next(_all(bibl, name), None)
    return None if element is None else text_of(element)


def _people(bibl: Element, role: str) -> list[Person]:
    people = []
    for element in _all(bibl, role):
        names = list(_all(element, "persName"))
        people += [_person(name) for name in names]
        if not names:
            people.append(Person(collab=text_of(element)))
    return people


def _person(name: Element) -> Person:
    def join(part: str) -> str:
        return " ".join(text_of(inner) for inner in _all(name, part))

    return Person(join("surname"), join("forename"), join("genName"))


def _scopes(bibl: Element, unit: str) -> Iterator[Element]:
    return (scope for scope in _all(bibl, "biblScope") if scope.get("unit") == unit)


def _scope(bibl: Element, unit: str) -> str | None:
    scope = next(_scopes(bibl, unit), None)
    return None if scope is None else text_of(scope)


def _pages(bibl: Element) -> Sequence[tuple[str, str | None]]:
    scope = next(_scopes(bibl, "page"), None)
    if scope is None:
        return ()
    if scope.get("from"):
        return (("fpage", scope.get("from")), ("lpage", scope.get("to")))
    return page_range(text_of(scope))


def _year(bibl: Element) -> str | None:
    """The year of publication: of `when` (ISO 8601), else the element's text (`2010a`, `in press`)."""
    for date in _all(bibl, "date"):
        when = date.get("when") or text_of(date)
        if when:
            year = re.match(r"\d{4}(?:[a-z]\b)?", when)
            return year.group() if year else when
    return None
