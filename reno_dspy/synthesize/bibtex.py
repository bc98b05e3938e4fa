"""BibTeX and BibLaTeX as CSL-JSON, read by pybtex."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from reno_dspy.base.errors import InputError

_TYPES = {
    "article": "article-journal", "book": "book", "mvbook": "book", "booklet": "pamphlet",
    "inbook": "chapter", "incollection": "chapter", "inreference": "entry-encyclopedia",
    "collection": "book", "proceedings": "book", "inproceedings": "paper-conference",
    "conference": "paper-conference", "phdthesis": "thesis", "mastersthesis": "thesis",
    "thesis": "thesis", "techreport": "report", "report": "report", "manual": "report",
    "online": "webpage", "electronic": "webpage", "www": "webpage", "dataset": "dataset",
    "software": "software", "patent": "patent", "standard": "standard", "unpublished": "manuscript",
    "misc": "document", "legislation": "legislation",
}  # fmt: skip
# CSL's variable -> the BibTeX fields that hold it, the first that is there.
_FIELDS = {
    "title": ("title",), "container-title": ("journaltitle", "journal", "booktitle", "maintitle"),
    "volume": ("volume",), "issue": ("number", "issue"), "page": ("pages", "eid"),
    "publisher": ("publisher", "school", "institution", "organization"),
    "publisher-place": ("location", "address"), "edition": ("edition",),
    "collection-title": ("series",), "genre": ("type",), "version": ("version",),
    "event-title": ("eventtitle",), "event-place": ("venue",), "number-of-pages": ("pagetotal",),
    "DOI": ("doi",), "URL": ("url",), "ISBN": ("isbn",), "ISSN": ("issn",), "language": ("langid",),
}  # fmt: skip
_LANGUAGES = {
    "english": "en", "american": "en", "british": "en", "german": "de", "ngerman": "de", "french": "fr",
    "spanish": "es", "portuguese": "pt", "brazilian": "pt", "italian": "it", "dutch": "nl",
    "polish": "pl", "czech": "cs", "russian": "ru", "ukrainian": "uk", "greek": "el", "turkish": "tr",
    "swedish": "sv", "danish": "da", "norsk": "no", "finnish": "fi", "hungarian": "hu",
    "romanian": "ro", "japanese": "ja", "chinese": "zh", "catalan": "ca", "indonesian": "id",
}  # fmt: skip
# What BibTeX calls issue is, in these, a number of the work or of its series.
_NUMBERED = frozenset({"report", "patent", "standard", "book", "chapter", "legislation"})
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def read_bibtex(path: Path) -> Iterator[dict[str, Any]]:
    """The entries of a `.bib` file as CSL-JSON items. Raises InputError naming the file and line."""
    from pybtex.database import parse_string
    from pybtex.exceptions import PybtexError

    try:
        entries = parse_string(path.read_text(encoding="utf-8"), "bibtex").entries
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8. Save it so and give it again.") from None
    except PybtexError as error:
        raise InputError(f"{path} is not valid BibTeX: {error}. Mend that entry.") from None
    for key, entry in entries.items():
        yield _item(key, entry)


def _item(key: str, entry: Any) -> dict[str, Any]:
    fields = {name.lower(): _plain(value) for name, value in entry.fields.items()}
    item: dict[str, Any] = {"id": key, "type": _TYPES.get(entry.type.lower(), "document")}
    for name, sources in _FIELDS.items():
        found = next((fields[source] for source in sources if fields.get(source)), None)
        if found:
            item[name] = found
    if subtitle := fields.get("subtitle"):
        item["title"] = f"{item.get('title', '')}: {subtitle}"
    if "issue" in item and item["type"] in _NUMBERED:
        name = "collection-number" if "collection-title" in item else "number"
        item[name] = item.pop("issue")
    if "language" in item:
        item["language"] = _LANGUAGES.get(item["language"].lower(), item["language"][:2].lower())
    if date := _date(fields.get("date") or fields.get("year", ""), fields.get("month", "")):
        item["issued"] = date
    if date := _date(fields.get("urldate", ""), ""):
        item["accessed"] = date
    for role in ("author", "editor", "translator"):
        if people := [_person(person) for person in entry.persons.get(role, ())]:
            item[role] = people
    return item


def _person(person: Any) -> dict[str, str]:
    """A person by parts; what BibTeX has in braces is one word, a body's name."""
    family = _plain(" ".join(person.last_names))
    given = _plain(" ".join((*person.first_names, *person.middle_names)))
    raw = " ".join(person.last_names)
    if not given and raw.startswith("{") and raw.endswith("}"):
        return {"literal": family}
    parts = {
        "family": family,
        "given": given,
        "non-dropping-particle": _plain(" ".join(person.prelast_names)),
        "suffix": _plain(" ".join(person.lineage_names)),
    }
    return {name: value for name, value in parts.items() if value}


def _plain(text: str) -> str:
    """A field's text without LaTeX."""
    import latexcodec  # noqa: F401  (registers the codec)

    # What is left of an unknown macro is seen later, and the entry left out.
    with suppress(ValueError):
        text = str(codecs.getdecoder("ulatex")(text)[0])  # type: ignore[arg-type]
    return " ".join(re.sub(r"[{}]", "", text).replace("~", " ").split())


def _date(text: str, month: str) -> dict[str, Any] | None:
    found = re.match(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", text)
    if found is None:
        return None
    parts = [int(part) for part in found.groups() if part]
    if len(parts) == 1 and month:
        short = month.strip().lower()[:3]
        number = _MONTHS.index(short) + 1 if short in _MONTHS else None
        number = number or (int(month) if month.isdigit() else None)
        parts += [number] if number else []
    return {"date-parts": [parts]}
