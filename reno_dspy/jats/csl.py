"""Annotations as CSL-JSON items, the form that reference managers read (schema csl-data 1.0)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from reno_dspy.jats.citation import Element, name_of, parse, read_values, text_of
from reno_dspy.jats.elements import PUBLICATION_TYPES, publication_type
from reno_dspy.jats.identifiers import identifiers, kind_of

_TYPES = {one.name: one.csl for one in PUBLICATION_TYPES}
_SIMPLE = {
    "volume": "volume", "issue": "issue", "edition": "edition", "publisher-name": "publisher",
    "publisher-loc": "publisher-place", "conf-name": "event-title", "series": "collection-title",
    "version": "version",
}  # fmt: skip
_READ = (
    *_SIMPLE, "article-title", "chapter-title", "source", "year", "month", "day", "fpage", "lpage",
    "elocation-id", "page-range",
)  # fmt: skip
# CSL has a variable for each of these kinds of identifier.
_IDENTIFIERS = {"doi": "DOI", "pmid": "PMID", "pmcid": "PMCID", "isbn": "ISBN", "issn": "ISSN"}


def to_csl(xml: str, item_id: str) -> dict[str, Any]:
    """One CSL-JSON item from one annotation; fields it has no word for are left out.

    Raises MalformedXml.
    """
    root = parse(xml)
    found = read_values(root, _READ)
    first = {name: next(filter(None, values)) for name, values in found.items() if any(values)}
    item: dict[str, Any] = {"id": item_id, "type": _type(root, first)}
    item |= {theirs: first[ours] for ours, theirs in _SIMPLE.items() if ours in first}
    title = first.get("article-title") or first.get("chapter-title")
    if title and "source" in first:
        item |= {"title": title, "container-title": first["source"]}
    elif title or "source" in first:
        item["title"] = title or first["source"]
    pages = [first[name] for name in ("fpage", "lpage") if name in first]
    if page := "-".join(pages) or first.get("page-range") or first.get("elocation-id"):
        item["page"] = page
    if "year" in first:
        item["issued"] = _date(first)
    return item | _identifiers(root) | _people(root)


def _type(root: Element, first: dict[str, str]) -> str:
    """The CSL type of the work; what its fields tell where the annotation does not say."""
    kind = publication_type(root) or "other"
    if kind == "book" and "chapter-title" in first:
        return "chapter"
    return _guess(first) if kind == "other" else _TYPES[kind]


def _guess(first: dict[str, str]) -> str:
    if "chapter-title" in first:
        return "chapter"
    if "conf-name" in first:
        return "paper-conference"
    if "article-title" in first and "source" in first:
        return "article-journal"
    return "book" if "source" in first and "publisher-name" in first else "document"


def _date(first: dict[str, str]) -> dict[str, Any]:
    parts = []
    for name in ("year", "month", "day"):
        if not re.fullmatch(r"\d{1,4}", first.get(name, "")):
            break
        parts.append(int(first[name]))
    return {"date-parts": [parts]} if parts else {"raw": first["year"]}


def _identifiers(root: Element) -> dict[str, str]:
    """Identifiers and the first other address; the first of each kind."""
    found: dict[str, str] = {}
    for kind, value in _tagged(root):
        found.setdefault(_IDENTIFIERS.get(kind, "URL" if kind == "uri" else ""), value)
    found.pop("", None)
    return found


def _tagged(root: Element) -> Iterator[tuple[str, str]]:
    """(kind, value) of every tagged identifier or address."""
    for element in root.iter("{*}pub-id", "{*}uri", "{*}ext-link", "{*}isbn", "{*}issn"):
        name, value = name_of(element), text_of(element)
        inside = identifiers(value)
        if inside:
            yield inside[0].kind, value[inside[0].start : inside[0].end]
        elif name == "pub-id":
            yield element.get("pub-id-type") or kind_of(value), value
        elif value:
            yield "uri" if name in ("uri", "ext-link") else name, value


def _people(root: Element) -> dict[str, list[dict[str, str]]]:
    people: dict[str, list[dict[str, str]]] = {}
    for element in root.iter("{*}name", "{*}string-name", "{*}collab"):
        group = next((a for a in element.iterancestors() if name_of(a) == "person-group"), None)
        role = "author" if group is None else group.get("person-group-type", "author")
        if role in ("author", "editor", "translator"):
            people.setdefault(role, []).append(_person(element))
    return people


def _person(element: Element) -> dict[str, str]:
    parts = {"family": "surname", "given": "given-names", "suffix": "suffix"}
    values = read_values(element, parts.values())
    person = {theirs: values[ours][0] for theirs, ours in parts.items() if values[ours]}
    return person or {"literal": text_of(element)}
