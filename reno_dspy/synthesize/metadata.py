"""Bibliographic metadata to render: CSL-JSON, BibTeX, or the gold of our own data sets.

    library.json      what Zotero and others export as CSL JSON: an array of items
    items.jsonl(.gz)  one CSL-JSON item a line, perhaps with `licence`, `provenance` and `language`
    library.bib       BibTeX or BibLaTeX
    data set          whatever `--data` takes elsewhere; its annotations are read as metadata

An item that cannot be rendered so that every value is certain is left out, by reason.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reno_dspy.base.errors import InputError
from reno_dspy.data.dataset import load
from reno_dspy.data.sources import read_records
from reno_dspy.jats.citation import MalformedXml
from reno_dspy.jats.csl import to_csl
from reno_dspy.jats.text import folded
from reno_dspy.synthesize.cleaning import Unusable, cleaned

Csl = dict[str, Any]

# CSL's type -> our form. A form is a publication type, but that a chapter is one of its own.
_FORMS = {
    "article-journal": "journal", "article-magazine": "journal", "review": "journal",
    "review-book": "journal", "book": "book", "classic": "book", "chapter": "chapter",
    "entry": "chapter", "entry-encyclopedia": "chapter", "entry-dictionary": "chapter",
    "paper-conference": "confproc", "thesis": "thesis", "report": "report",
    "webpage": "webpage", "post": "webpage", "post-weblog": "webpage",
    "article-newspaper": "newspaper", "article": "preprint", "software": "software",
    "dataset": "data", "standard": "standard", "patent": "patent", "legislation": "legal-doc",
    "bill": "legal-doc", "legal_case": "legal-doc", "regulation": "legal-doc",
    "document": "other", "manuscript": "other", "pamphlet": "other", "speech": "other",
}  # fmt: skip
# The mark of an item that is the gold of a row.
_TAUGHT = "reno-taught"
FORMS = tuple(dict.fromkeys(_FORMS.values()))


@dataclass(frozen=True)
class Item:
    """One work: its cleaned CSL-JSON, and what is known of where it came from.

    `key` is its title, letters and digits only: items of one key are one work. `form` is the kind of
    work, `language` that of the title (ISO 639-1). `taught`: a real row that is trained on cites it.
    """

    id: str
    key: str
    form: str
    csl: Mapping[str, Any]
    language: str | None
    licence: str | None
    provenance: str | None
    taught: bool = False


def publication_type(form: str) -> str:
    """The publication type of a form."""
    return "book" if form == "chapter" else form


def read_items(paths: Sequence[str], licences: Sequence[str]) -> tuple[list[Item], Counter[str]]:
    """The items of all `paths`, each work once, and how many were left out, by reason.

    `licences` (empty: any) are those an item must have. Raises InputError for a source that cannot be
    read, or when nothing is left.
    """
    items: dict[str, Item] = {}
    dropped: Counter[str] = Counter()
    for path in paths:
        for csl in _read(path):
            found = _item(csl, licences)
            if isinstance(found, str):
                dropped[found] += 1
            elif found.id in items:
                dropped["duplicate"] += 1
            else:
                items[found.id] = found
    if not items:
        told = ", ".join(f"{reason} {count}" for reason, count in dropped.most_common())
        raise InputError(
            f"No item of {', '.join(paths)} can be rendered ({told or 'it is empty'})."
        )
    return list(items.values()), dropped


def _item(csl: Csl, licences: Sequence[str]) -> Item | str:
    licence = csl.get("licence") or csl.get("license")
    if licences and licence not in licences:
        return "licence"
    form = _FORMS.get(csl.get("type") or "")
    if form is None:
        return "type"
    try:
        clean = cleaned(csl, form)
    except Unusable as reason:
        return str(reason)
    key = folded(clean["title"])
    return Item(
        _identity(clean, key),
        key,
        form,
        clean,
        clean.get("language"),
        licence,
        csl.get("provenance"),
        bool(csl.get(_TAUGHT)),
    )


def _identity(clean: Mapping[str, Any], key: str) -> str:
    """Two records of one work in one year are one item."""
    year = str((clean.get("issued") or {}).get("date-parts", [[""]])[0][0])
    return hashlib.blake2b(f"{key}\n{year}".encode(), digest_size=8).hexdigest()


def _read(path: str) -> Iterator[Csl]:
    if path.endswith(".bib"):
        from reno_dspy.synthesize.bibtex import read_bibtex

        yield from read_bibtex(Path(path))
    elif path.endswith(".json"):
        yield from _read_json(Path(path))
    elif path.endswith((".jsonl", ".jsonl.gz")) and Path(path).is_file():
        for record in read_records(Path(path)):
            yield _of_row(record, record["xml"]) if "xml" in record else record
    else:
        for row in load(path, "train" if Path(path).is_dir() else None).rows:
            yield _of_row({"licence": row.licence, "language": row.language, "id": row.id}, row.xml)


def _read_json(path: Path) -> list[Csl]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.") from None
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}.") from None
    items = value.get("items") if isinstance(value, dict) else value
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise InputError(f"{path} is not an array of CSL-JSON items.")
    if any("itemType" in item for item in items):
        raise InputError(
            f"{path} is in Zotero's own format. Export the library as `CSL JSON` "
            "(or `Better CSL JSON`) and give that file."
        )
    return items


def _of_row(record: Mapping[str, Any], xml: str) -> Csl:
    """The metadata that an annotation holds; one that is malformed has no type."""
    told = ("licence", "language", "provenance")
    kept = {_TAUGHT: True} | {name: record[name] for name in told if record.get(name)}
    try:
        return to_csl(xml, str(record.get("id") or "")) | kept
    except MalformedXml:
        return kept
