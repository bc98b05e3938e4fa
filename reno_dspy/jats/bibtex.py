"""CSL-JSON items as BibTeX entries, in UTF-8, written by pybtex."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from pybtex.database import BibliographyData, Entry, Person
from pybtex.database.output.bibtex import Writer

_TYPES = {
    "article-journal": "article", "article-newspaper": "article", "book": "book",
    "chapter": "incollection", "paper-conference": "inproceedings", "thesis": "phdthesis",
    "report": "techreport",
}  # fmt: skip
# What a book is called that holds the work, and who publishes it, in the words of each type.
_CONTAINERS = {"article": "journal", "incollection": "booktitle", "inproceedings": "booktitle"}
_PUBLISHERS = {"phdthesis": "school", "techreport": "institution"}
# CSL's variable -> the BibTeX field. BibTeX calls every issue a number.
_FIELDS = {
    "volume": "volume", "issue": "number", "page": "pages", "publisher-place": "address",
    "edition": "edition", "collection-title": "series", "version": "version", "event-title": "eventtitle",
    "ISBN": "isbn", "ISSN": "issn", "PMID": "pmid", "PMCID": "pmcid", "note": "note",
}  # fmt: skip
# Fields that programs read as they are, without LaTeX.
_VERBATIM = {"DOI": "doi", "URL": "url"}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# BibTeX counts every brace, escaped or not; these macros have none of their own.
_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}", "{": r"\textbraceleft{}", "}": r"\textbraceright{}",
        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        **{special: f"\\{special}" for special in "$&%#_"},
    }
)  # fmt: skip
# A capital after a word's first letter: a style that lowers titles must leave such a word alone.
_CAPITALS = re.compile(r"\w[^\W\d_]*[^\W\d_a-zß-öø-ÿ]")
_SHORT_WORD = 3


class BibtexEntries:
    """Writes items as entries whose keys are unique in one file.

    A key is made of the first author, the year and the first long word of the title, so that it does not
    change when other references are added before it. Of entries with the same, the second gets an `a`.
    """

    def __init__(self) -> None:
        self._keys: set[str] = set()

    def entry(self, item: Mapping[str, Any]) -> str:
        """`item` as an entry, with the line end after it."""
        key = next(key for key in _keys(item) if key not in self._keys)
        self._keys.add(key)
        file = io.StringIO()
        _Verbatim(encoding="utf-8").write_stream(BibliographyData({key: _entry(item)}), file)
        return file.getvalue()


class _Verbatim(Writer):  # type: ignore[misc]
    def _encode(self, text: str) -> str:
        """`text`, which is LaTeX already: pybtex leaves backslashes and braces of plain text alone."""
        return text


def escaped(text: str) -> str:
    """Plain text as LaTeX."""
    return text.translate(_ESCAPES)


def _entry(item: Mapping[str, Any]) -> Entry:
    kind = _TYPES.get(item["type"], "misc")
    fields: dict[str, str] = {}
    if title := item.get("title"):
        fields["title"] = " ".join(map(_protected, title.split()))
    names = {
        "container-title": _CONTAINERS.get(kind, "howpublished"),
        "publisher": _PUBLISHERS.get(kind, "publisher"),
        **_FIELDS,
    }
    fields |= {theirs: escaped(item[ours]) for ours, theirs in names.items() if ours in item}
    if "pages" in fields:
        fields["pages"] = re.sub(r"(?<=\d)[-\u2010-\u2013](?=\w)", "--", fields["pages"])
    fields |= _date(item.get("issued", {}))
    for ours, theirs in _VERBATIM.items():
        if ours in item:
            fields[theirs] = item[ours].replace("{", "%7B").replace("}", "%7D")
    people = {
        role: [_person(one) for one in item[role]] for role in ("author", "editor") if role in item
    }
    return Entry(kind, fields, people)


def _protected(word: str) -> str:
    return f"{{{escaped(word)}}}" if _CAPITALS.search(word) else escaped(word)


def _person(person: Mapping[str, str]) -> Person:
    if "literal" in person:
        return Person(last=f"{{{escaped(person['literal'])}}}")
    parts = {name: _name(person.get(name, "")) for name in ("family", "given", "suffix")}
    # A name of one part is no first name to BibTeX.
    last, first = (parts["family"], parts["given"]) if parts["family"] else (parts["given"], "")
    return Person(last=last, first=first, lineage=parts["suffix"])


def _name(text: str) -> str:
    """A part of a name, in braces where BibTeX would take its words for those of two people or parts."""
    latex = escaped(text)
    return f"{{{latex}}}" if "," in text or re.search(r"\band\b", text) else latex


def _date(issued: Mapping[str, Any]) -> dict[str, str]:
    if "raw" in issued:
        return {"year": escaped(issued["raw"])}
    parts = [*issued.get("date-parts", [[]])[0]]
    found = {"year": str(parts[0])} if parts else {}
    if len(parts) > 1 and 1 <= parts[1] <= len(_MONTHS):
        found["month"] = _MONTHS[parts[1] - 1]
    if len(parts) > 2:
        found["day"] = str(parts[2])
    return found


def _keys(item: Mapping[str, Any]) -> Iterator[str]:
    """The key of an item, then others for when it is taken."""
    people = item.get("author") or item.get("editor") or [{}]
    name = people[0].get("family") or people[0].get("literal") or people[0].get("given", "")
    issued = item.get("issued", {})
    year = str(issued["date-parts"][0][0]) if "date-parts" in issued else issued.get("raw", "")
    words = [_ascii(word) for word in re.findall(r"\w+", item.get("title", ""))]
    word = next((w for w in words if len(w) > _SHORT_WORD), next(filter(None, words), ""))
    key = _ascii("".join(name.split()[-1:])) + _ascii(year) + word
    # A number alone is no key to some programs.
    key = key if key[:1].isalpha() else f"ref{key}"
    yield key
    for number in count():
        yield f"{key}{_suffix(number)}"


def _suffix(number: int) -> str:
    """a, b, ..., z, aa, ab, ..."""
    before, last = divmod(number, 26)
    return (_suffix(before - 1) if before else "") + chr(ord("a") + last)


def _ascii(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]", "", letters)
