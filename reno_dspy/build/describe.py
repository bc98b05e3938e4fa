"""What a pair is about: language of the title, PID, publication type, preprint (paper, section 2.4).

The paper asks an LM for language and PID; these are the defaults without one: a language detector
restricted to the paper's eight languages, and patterns.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reno_dspy.jats.citation import Element, read_values

if TYPE_CHECKING:
    from lingua import LanguageDetector

LANGUAGES = ("en", "pt", "es", "fr", "de", "it", "ru", "zh")
# The composition of the published benchmark (paper, section 2.5), in percent; normalized when used
# (the platforms add up to 99).
PAPER_COMPOSITION: dict[str, dict[str, float]] = {
    "has_pid": {"true": 59, "false": 41},
    "citing_is_preprint": {"true": 14, "false": 86},
    "language": {"en": 32, "pt": 30, "es": 23, "fr": 7, "de": 3, "it": 2, "ru": 2, "zh": 1},
    "publication_type": {"journal": 53, "book": 30, "webpage": 8, "thesis": 5, "confproc": 4},
    "source": {"scielo": 47, "redalyc": 24, "ore": 14, "pkp": 14},
}
_TITLES = ("article-title", "chapter-title", "part-title", "data-title", "source")
# Identifiers that resolve for good. An ISBN or ISSN names an edition or a journal, a URL a place.
_PID = re.compile(
    r"\b10\.\d{4,9}/\S|\barxiv\s*:?\s*\d{4}\.\d{4,5}|\barxiv\s*:?\s*[a-z-]+/\d{7}|"
    r"\bpmid\b\W{0,3}\d|\bpmc\s?\d{5,}|\bhdl\.handle\.net/|\bhdl:\s?\d|\bark:/|\burn:[a-z0-9]",
    re.IGNORECASE,
)
_PID_TYPES = frozenset({"doi", "pmid", "pmcid", "pmc", "arxiv", "handle", "ark", "urn"})
# JATS leaves @publication-type open; these are the forms met, by the paper's five types.
_TYPES = {
    "journal": "journal article article-journal periodical magazine newspaper journal-article",
    "book": "book chapter book-chapter edited-book monograph inbook incollection booklet",
    "webpage": "webpage web website web-page web-site online post-weblog database",
    "thesis": "thesis dissertation phdthesis mastersthesis",
    "confproc": "confproc conference conf-proc proceedings inproceedings paper-conference "
    "conference-paper",
}
_TYPE_OF = {name: kind for kind, names in _TYPES.items() for name in names.split()}


@dataclass(frozen=True)
class Language:
    """An ISO 639-1 code and the detector's confidence in it, 0..1."""

    code: str
    confidence: float


def title_of(citation: Element) -> str:
    """The cited work's title: article, chapter, or else the source; "" where there is none."""
    values = read_values(citation, _TITLES)
    return next((value for name in _TITLES for value in values[name] if value), "")


def languages(texts: Sequence[str]) -> list[Language]:
    """The language of each text, among the paper's eight (texts without letters: English, 0)."""
    found = _detector().compute_language_confidence_values_in_parallel(list(texts))
    return [
        Language(values[0].language.iso_code_639_1.name.lower(), round(values[0].value, 4))
        if values and values[0].value
        else Language("en", 0.0)
        for values in found
    ]


def has_pid(plaintext: str, citation: Element) -> bool:
    """Whether the reference or its annotation holds a persistent identifier."""
    if _PID.search(plaintext):
        return True
    tagged = (element.get("pub-id-type", "") for element in citation.iter("{*}pub-id"))
    return any(kind.lower() in _PID_TYPES for kind in tagged)


def publication_type(citation: Element) -> str:
    """journal, book, webpage, thesis, confproc; another JATS type as it is; "other" without one."""
    raw = (citation.get("publication-type") or citation.get("citation-type") or "other").lower()
    return _TYPE_OF.get(raw.strip(), raw.strip() or "other")


@functools.cache
def _detector() -> LanguageDetector:
    # Imported and built on first use: the models are large, and most commands need none.
    from lingua import IsoCode639_1, LanguageDetectorBuilder

    codes = [getattr(IsoCode639_1, code.upper()) for code in LANGUAGES]
    return LanguageDetectorBuilder.from_iso_codes_639_1(*codes).build()
