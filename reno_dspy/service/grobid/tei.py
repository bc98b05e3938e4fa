"""Annotations as TEI, the way GROBID writes a `biblStruct` (`reno_dspy.systems.grobid.tei` reads it).

    analytic: title[@level=a], people, idno, ptr       of a work that appeared in another
    monogr:   title[@level=j|m], imprint, meeting      what was published; people if it stands alone
    series:   title[@level=s]

GROBID's format has one place for most fields, so that of several values the first is kept; a chapter's
title is an article's; who is neither author nor editor is an `editor` with a role.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from lxml import etree

from reno_dspy.annotate.files import Answer
from reno_dspy.jats.citation import Element, name_of, parse, read_values, text_of
from reno_dspy.jats.elements import publication_type
from reno_dspy.jats.identifiers import kind_of
from reno_dspy.jats.spans import ILLEGAL

_TEI = "http://www.tei-c.org/ns/1.0"
_READ = (
    "article-title", "chapter-title", "source", "series", "year", "month", "day", "volume", "issue",
    "fpage", "lpage", "page-range", "elocation-id", "edition", "conf-name", "publisher-name",
    "publisher-loc",
)  # fmt: skip
# How GROBID spells the kinds of identifiers; others are as they are here.
_IDNO = {
    "doi": "DOI",
    "pmid": "PMID",
    "pmcid": "PMCID",
    "arxiv": "arXiv",
    "isbn": "ISBN",
    "issn": "ISSN",
}
_LIST = """<?xml version="1.0" encoding="UTF-8"?>
<TEI xmlns="{namespace}" xmlns:xlink="http://www.w3.org/1999/xlink"
 xmlns:mml="http://www.w3.org/1998/Math/MathML">
\t<teiHeader/>
\t<text>
\t\t<front/>
\t\t<body/>
\t\t<back>
\t\t\t<div>
\t\t\t\t<listBibl>
{items}
\t\t\t\t</listBibl>
\t\t\t</div>
\t\t</back>
\t</text>
</TEI>
"""


def bibl_list(answers: Iterable[Answer], *, raw: bool) -> str:
    """A TEI document with the `biblStruct` of every answer, in order; `raw` adds the references' text."""
    items = (bibl_struct(answer, raw=raw, number=n) for n, answer in enumerate(answers))
    return _LIST.format(namespace=_TEI, items="\n".join(items))


def bibl_struct(answer: Answer, *, raw: bool, number: int | None = None) -> str:
    """The `biblStruct` of one answer; of a failed one it is empty but for a note that says why.

    `number` is its place in a list, of which its id is made.
    """
    identity = {} if number is None else {"{http://www.w3.org/XML/1998/namespace}id": f"b{number}"}
    bibl = etree.Element("biblStruct", identity)
    if answer["annotation"] is None:
        _add(bibl, "note", ILLEGAL.sub("\ufffd", answer["error"] or ""), type="error")
    else:
        bibl.extend(_parts(parse(answer["annotation"])))
    if raw:
        whole = answer["label"] + answer["text"]
        _add(bibl, "note", ILLEGAL.sub("\ufffd", whole), type="raw_reference")
    text: str = etree.tostring(bibl, encoding="unicode", pretty_print=True)
    return text.rstrip()


def _parts(root: Element) -> Iterator[Element]:
    values = read_values(root, _READ)
    first = {name: next(filter(None, found)) for name, found in values.items() if any(found)}
    title = first.get("article-title") or first.get("chapter-title")
    monogr = etree.Element("monogr")
    work = etree.Element("analytic") if title else monogr
    if title:
        _add(work, "title", title, level="a", type="main")
        _describe(work, root)
        yield work
    if "source" in first or not title:
        _add(monogr, "title", first.get("source"), level=_level(root, first))
    if not title:
        _describe(work, root)
    _add(monogr, "meeting", first.get("conf-name"))
    _add(monogr, "edition", first.get("edition"))
    _imprint(monogr, first)
    yield monogr
    if "series" in first:
        series = etree.Element("series")
        _add(series, "title", first["series"], level="s")
        yield series


def _level(root: Element, first: Mapping[str, str]) -> str:
    """`j` for a journal, `m` for any other publication, by the type of the work or else its fields."""
    kind = publication_type(root)
    if kind is None:
        return "j" if "article-title" in first and "conf-name" not in first else "m"
    return "j" if kind in ("journal", "newspaper") else "m"


def _describe(work: Element, root: Element) -> None:
    """Add the people and identifiers of `root` to `work`, and its addresses."""
    for role, person in _people(root):
        attributes = {"role": role} if role not in ("author", "editor") else {}
        whose = etree.SubElement(work, "author" if role == "author" else "editor", attributes)
        whose.append(person)
    for element in root.iter("{*}pub-id", "{*}isbn", "{*}issn"):
        kind = element.get("pub-id-type") or kind_of(text_of(element))
        kind = kind if name_of(element) == "pub-id" else name_of(element)
        _add(work, "idno", text_of(element), type=_IDNO.get(kind, kind))
    for element in root.iter("{*}uri", "{*}ext-link"):
        if target := text_of(element):
            etree.SubElement(work, "ptr", target=target)


def _people(root: Element) -> Iterator[tuple[str, Element]]:
    """(role, persName or orgName) of everybody, in order."""
    for element in root.iter("{*}name", "{*}string-name", "{*}collab"):
        group = next((a for a in element.iterancestors() if name_of(a) == "person-group"), None)
        role = "author" if group is None else group.get("person-group-type", "author")
        if name_of(element) == "collab":
            person = etree.Element("orgName", type="collaboration")
            person.text = text_of(element)
        else:
            person = _pers_name(element)
        yield role, person


def _pers_name(element: Element) -> Element:
    person = etree.Element("persName")
    values = read_values(element, ("given-names", "surname", "prefix", "suffix"))
    given = " ".join(values["given-names"]).split()
    for number, name in enumerate(given):
        _add(person, "forename", name, type="middle" if number else "first")
    for part, name in (("surname", "surname"), ("prefix", "roleName"), ("suffix", "genName")):
        _add(person, name, " ".join(values[part]))
    if not len(person):
        person.text = text_of(element)
    return person


def _imprint(monogr: Element, first: Mapping[str, str]) -> None:
    imprint = etree.SubElement(monogr, "imprint")
    _add(imprint, "publisher", first.get("publisher-name"))
    _add(imprint, "pubPlace", first.get("publisher-loc"))
    for unit in ("volume", "issue"):
        _add(imprint, "biblScope", first.get(unit), unit=unit)
    if "fpage" in first and "lpage" in first:
        pages = {"from": first["fpage"], "to": first["lpage"]}
        etree.SubElement(imprint, "biblScope", {"unit": "page", **pages})
    else:
        names = ("fpage", "page-range", "elocation-id", "lpage")
        page = next((first[name] for name in names if name in first), None)
        _add(imprint, "biblScope", page, unit="page")
    if year := first.get("year"):
        _add(imprint, "date", year, type="published", **_when(first))


def _when(first: Mapping[str, str]) -> dict[str, str]:
    """The date as ISO 8601 has it, where it is one."""
    if not re.fullmatch(r"\d{4}", first["year"]):
        return {}
    parts = [first["year"]]
    for name, most in (("month", 12), ("day", 31)):
        number = first.get(name, "")
        if not number.isdecimal() or not 1 <= int(number) <= most:
            break
        parts.append(f"{int(number):02}")
    return {"when": "-".join(parts)}


def _add(parent: Element, name: str, text: str | None, **attributes: str) -> None:
    if text:
        etree.SubElement(parent, name, attributes).text = text
