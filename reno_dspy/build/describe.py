"""What a pair is about: the language of its title, whether it has a PID (paper, section 2.4).

The paper asks an LM for language and PID; these are the defaults without one: a language detector
restricted to the paper's eight languages, and patterns.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reno_dspy.jats import identifiers
from reno_dspy.jats.citation import Element, read_values
from reno_dspy.jats.elements import TITLES

if TYPE_CHECKING:
    from lingua import LanguageDetector

LANGUAGES = ("en", "pt", "es", "fr", "de", "it", "ru", "zh")
_TITLES = (*TITLES, "source")


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
    """Whether the reference or its annotation holds one of `identifiers.PERSISTENT`."""
    tagged = (element.get("pub-id-type", "") for element in citation.iter("{*}pub-id"))
    persistent = {*identifiers.PERSISTENT, "pmc"}
    return identifiers.has_pid(plaintext) or any(kind.lower() in persistent for kind in tagged)


@functools.cache
def _detector() -> LanguageDetector:
    # Imported and built on first use: the models are large, and most commands need none.
    from lingua import IsoCode639_1, LanguageDetectorBuilder

    codes = [getattr(IsoCode639_1, code.upper()) for code in LANGUAGES]
    return LanguageDetectorBuilder.from_iso_codes_639_1(*codes).build()
