"""Annotations as CSL-JSON items, the form that reference managers read (schema csl-data 1.0)."""

from __future__ import annotations

import re
from typing import Any

from reno_dspy.jats.citation import Element, name_of, parse, read_values, text_of

_TYPES = {
    "journal": "article-journal", "article": "article-journal", "book": "book",
    "chapter": "chapter", "confproc": "paper-conference", "conference": "paper-conference",
    "thesis": "thesis", "webpage": "webpage", "web": "webpage", "report": "report",
    "patent": "patent", "standard": "standard", "data": "dataset", "software": "software",
    "newspaper": "article-newspaper", "legal-doc": "legislation", "preprint": "article",
}  # fmt: skip
_SIMPLE = {
    "volume": "volume", "issue": "issue", "edition": "edition", "publisher-name": "publisher",
    "publisher-loc": "publisher-place", "uri": "URL", "conf-name": "event-title",
}  # fmt: skip
_DOI = re.compile(r"10\.\d{4,9}/\S+")


def to_csl(xml: str, item_id: str) -> dict[str, Any]:
    """One CSL-JSON item from one annotation; fields it has no word for are left out.

    Raises MalformedXml.
    """
    root = parse(xml)
    names = (*_SIMPLE, "article-title", "chapter-title", "source", "year", "month", "day", "fpage",
             "lpage", "elocation-id", "page-range", "pub-id")  # fmt: skip
    found = read_values(root, names)
    first = {name: next(filter(None, values)) for name, values in found.items() if any(values)}
    kind = _TYPES.get(root.get("publication-type") or "")
    item: dict[str, Any] = {"id": item_id, "type": kind or _kind(first)}
    item |= {theirs: first[ours] for ours, theirs in _SIMPLE.items() if ours in first}
    title = first.get("article-title") or first.get("chapter-title")
    if title and "source" in first:
        item |= {"title": title, "container-title": first["source"]}
    elif title or "source" in first:
        item["title"] = title or first["source"]
    pages = [first[name] for name in ("fpage", "lpage") if name in first]
    if page := "-".join(pages) or first.get("page-range") or first.get("elocation-id"):
        item["page"] = page
    if doi := _DOI.search(" ".join(found["pub-id"])):
        item["DOI"] = doi.group().rstrip(".,;")
    if "year" in first:
        item["issued"] = _date(first)
    return item | _people(root)


def _kind(first: dict[str, str]) -> str:
    """The type of item that the fields of an annotation are of, where it does not say its own."""
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
