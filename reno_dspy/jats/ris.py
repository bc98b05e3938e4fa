"""CSL-JSON items as RIS records, the form that most reference managers import, written by rispy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import rispy

_TYPES = {
    "article-journal": "JOUR", "article-newspaper": "NEWS", "book": "BOOK", "chapter": "CHAP",
    "paper-conference": "CPAPER", "thesis": "THES", "report": "RPRT", "article": "UNPB",
    "webpage": "ELEC", "software": "COMP", "dataset": "DATA", "standard": "STAND", "patent": "PAT",
    "legislation": "STAT",
}  # fmt: skip
# CSL's variable -> the field's name in rispy.
_FIELDS = {
    "title": "title", "container-title": "secondary_title", "collection-title": "tertiary_title",
    "volume": "volume", "issue": "number", "publisher": "publisher", "publisher-place": "place_published",
    "edition": "edition", "DOI": "doi", "PMID": "accession_number", "note": "note",
}  # fmt: skip
_PAGES = re.compile(r"(\w+)[-\u2010-\u2013](\w+)")


class _Writer(rispy.RisWriter):  # type: ignore[misc]
    def set_header(self, count: int) -> str:
        """Nothing stands between two records."""
        return ""


def record(item: Mapping[str, Any]) -> str:
    """`item` as a record, with an empty line after it."""
    found: dict[str, Any] = {"type_of_reference": _TYPES.get(item["type"], "GEN")}
    people = {
        "author": "authors",
        "editor": "secondary_authors",
        "translator": "subsidiary_authors",
    }
    for role, name in people.items():
        if role in item:
            found[name] = [_person(person) for person in item[role]]
    found |= {theirs: item[ours] for ours, theirs in _FIELDS.items() if ours in item}
    if isbn := item.get("ISBN") or item.get("ISSN"):
        found["issn"] = isbn
    if page := item.get("page"):
        both = _PAGES.fullmatch(page)
        found |= {"start_page": both[1], "end_page": both[2]} if both else {"start_page": page}
    if "URL" in item:
        found["urls"] = [item["URL"]]
    text: str = rispy.dumps([found | _date(item.get("issued", {}))], implementation=_Writer)
    return f"{text}\n"


def _person(person: Mapping[str, str]) -> str:
    """`Family, Given, Suffix`, as RIS has it; a body has no comma."""
    if "literal" in person:
        return person["literal"]
    parts = [person.get(name, "") for name in ("family", "given", "suffix")]
    return ", ".join(parts).rstrip(", ") if parts[0] else parts[1]


def _date(issued: Mapping[str, Any]) -> dict[str, str]:
    if "raw" in issued:
        return {"year": issued["raw"]}
    parts = issued.get("date-parts", [[]])[0]
    if not parts:
        return {}
    month, day = ([f"{part:02}" for part in parts[1:3]] + ["", ""])[:2]
    date = {"date": f"{parts[0]}/{month}/{day}/"} if month else {}
    return {"year": str(parts[0])} | date
