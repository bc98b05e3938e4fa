"""Identifiers and addresses in a reference, found by their form alone.

DOI (ISO 26324), arXiv (old and new scheme), PubMed, PubMed Central, Handle (RFC 3651), URN (RFC 8141), ARK,
ISBN (ISO 2108), ISSN (ISO 3297).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# What resolves for good. An ISBN or ISSN names an edition or a journal, a URL a place.
PERSISTENT = ("doi", "pmid", "pmcid", "arxiv", "handle", "urn", "ark")
# Any other address.
URI = "uri"

_OLD_ARCHIVES = "astro-ph|cond-mat|gr-qc|hep-(?:ex|lat|ph|th)|math-ph|nucl-(?:ex|th)|quant-ph"
_ARXIV = r"(?:\d{4}\.\d{4,5}|[a-z]+(?:-[a-z]+)?(?:\.[a-z]{2})?/\d{7})(?:v\d+)?"
_ISBN = r"(?:97[89][ -]?)?(?:\d[ -]?){9}[\dX]"
_NCBI = r"(?:https?://)?(?:www\.)?ncbi\.nlm\.nih\.gov"
# The rest of an address: full-width punctuation ends it, since no space need stand there.
_REST = r"[^\s\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+"
# Kind -> what is printed before it (its name, the address of its resolver, or nothing), and its form.
_PRINTED = {
    "doi": (
        r"(?:https?://)?(?:www\.|dx\.)?doi\.org/(?:doi:)?|\bdoi\s*[:>]?\s*|(?<![\w/])",
        rf"10\.\d{{4,9}}(?:\.\d+)*/{_REST}",
    ),
    "arxiv": (
        r"(?:https?://)?(?:www\.)?arxiv\.org/(?:abs|pdf)/|\barxiv\s*[:.]?\s*|\babs/|"
        rf"(?<![\w/])(?=(?:{_OLD_ARCHIVES})/)",
        rf"{_ARXIV}(?!\d)",
    ),
    "pmcid": (rf"{_NCBI}/pmc/articles/|\bPMCID\W{{0,3}}|(?<!\w)", r"PMC\s?\d{5,9}(?!\d)"),
    "pmid": (
        rf"{_NCBI}/pubmed/|(?:https?://)?pubmed\.ncbi\.nlm\.nih\.gov/|\bPMID\W{{0,3}}|"
        r"\bPubMed\s*:\s*",
        r"\d{1,8}(?!\d)",
    ),
    "handle": (r"(?:https?://)?hdl\.handle\.net/|\bhdl:\s?", rf"\d[\d.]*/{_REST}"),
    "urn": (r"(?<!\w)", rf"urn:[a-z0-9][a-z0-9-]{{1,31}}:{_REST}"),
    "ark": (r"(?<!\w)", rf"ark:/?\d{{5,9}}/{_REST}"),
    "isbn": (r"\bISBN(?:-1[03])?(?:\s*\([^()]*\))?\s*:?\s*", rf"{_ISBN}(?!\w)"),
    "issn": (r"\bISSN(?:\s*\([^()]*\))?\s*:?\s*", r"\d{4}[-\u2010-\u2013]?\d{3}[\dX](?!\w)"),
    URI: ("", rf"(?<!\w)(?:(?:https?|ftp)://|www\.){_REST}"),
}
_PATTERNS = {
    kind: re.compile(f"(?:{before})({form})", re.IGNORECASE)
    for kind, (before, form) in _PRINTED.items()
}
# A text without any of these holds no identifier of the kind; asking first is ten times as fast.
_HINTS = {
    "doi": ("10.",), "arxiv": ("arxiv", "abs/", "/"), "pmcid": ("pmc",), "pmid": ("pmid", "pubmed"),
    "handle": ("hdl",), "urn": ("urn:",), "ark": ("ark:",), "isbn": ("isbn",), "issn": ("issn",),
    URI: ("://", "www."),
}  # fmt: skip
# The form of a value that is known to be some identifier.
_FORMS = {
    "doi": r".*\b10\.\s?\d{4,9}\s?/.*",
    "pmcid": r"PMC\s?\d+",
    "arxiv": rf"(?:arxiv\s*:?\s*)?{_ARXIV}(?:\s*\[[\w.-]+\])?",
    "isbn": rf"(?:ISBN\s*:?\s*)?{_ISBN}",
    "issn": r"(?:ISSN\s*:?\s*)?\d{4}[-\u2010-\u2013]\d{3}[\dX]",
    "pmid": r"(?:PMID\s*:?\s*)?\d{5,9}",
    "handle": r"(?:hdl:\s?)?\d[\d.]*/\S+",
}
_BRACKETS = {")": "(", "]": "[", "}": "{", ">": "<"}


@dataclass(frozen=True)
class Identifier:
    """Characters [start, end) of a text that are an identifier of `kind`.

    `printed` is where its name or its resolver's address begins (`doi:`, `https://doi.org/`).
    """

    printed: int
    start: int
    end: int
    kind: str


def identifiers(text: str) -> list[Identifier]:
    """The identifiers and addresses in `text`, disjoint and in order.

    An address that is no resolver's is a `uri` even where a DOI is part of it.
    """
    lower = text.lower()
    kinds = [kind for kind, hints in _HINTS.items() if any(hint in lower for hint in hints)]
    addresses = [match.span() for match in _PATTERNS[URI].finditer(text)] if URI in kinds else []
    found: list[Identifier] = []
    for kind in kinds:
        for match in _PATTERNS[kind].finditer(text):
            inside = any(start < match.start() < end for start, end in addresses)
            start, end = match.span(1)
            one = Identifier(match.start(), start, start + len(_closed(text[start:end])), kind)
            taken = any(one.printed < other.end and other.printed < one.end for other in found)
            if not inside and not taken and one.end > one.start:
                found.append(one)
    return sorted(found, key=lambda one: one.start)


def has_pid(text: str) -> bool:
    """Whether `text` holds a persistent identifier; a DOI within a publisher's address is one."""
    found = any(one.kind in PERSISTENT for one in identifiers(text))
    return found or re.search(r"\b10\.\d{4,9}/\S", text) is not None


def kind_of(value: str) -> str:
    """The `pub-id-type` of a value that is some identifier; `other` where its form does not tell."""
    value = value.strip()
    forms = (
        k for k, form in _FORMS.items() if re.fullmatch(form, value, re.IGNORECASE | re.DOTALL)
    )
    return next(forms, "other")


def _closed(value: str) -> str:
    """`value` without the punctuation at its end that belongs to the sentence around it."""
    while value:
        opening = _BRACKETS.get(value[-1])
        unopened = opening is not None and value.count(opening) < value.count(value[-1])
        if not unopened and value[-1] not in ".,;:!?\"'“”‘’«»":
            break
        value = value[:-1]
    return value
