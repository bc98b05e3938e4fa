"""What stands in printed reference lists that no style file prints.

Numbers of a long list, letters after years, dashes for repeated authors, small capitals, remarks, links
that a web page adds, the words that begin a footnote, two references run together.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reno_dspy.jats.edits import Edit, apply_edits
from reno_dspy.jats.spans import Span
from reno_dspy.synthesize.names import glued

_LABELS = ("{}. ", "{}. ", "[{}] ", "[{}] ", "({}) ", "{} ", "{}) ")
_DASHES = ("———", "———.", "———", "—", "_____", "______.", "-----")
_FOOTNOTES = {
    "en": ("See ", "See also ", "Cf. ", "See, e.g., "), "de": ("Vgl. ", "Siehe ", "Vgl. dazu ", "S. dazu "),
    "fr": ("Voir ", "Cf. ", "V. "), "es": ("Véase ", "Cfr. ", "Ver "), "pt": ("Ver ", "Cf. ", "Vide "),
    "it": ("Cfr. ", "V. ", "Si veda "), "ru": ("См.: ", "См. также: ", "Ср.: "), "pl": ("Zob. ", "Por. "),
    "nl": ("Zie ", "Vgl. "), "cs": ("Viz ", "Srov. "), "sv": ("Se ", "Jfr "), "da": ("Se ", "Jf. "),
}  # fmt: skip
_REMARKS = (
    "[in {}]", "(in {})", "[In {}]", "(In {}.)", "[in {} with English abstract]",
    "(in {}; English summary)",
)  # fmt: skip
_LANGUAGES = {
    "ru": "Russian", "de": "German", "fr": "French", "es": "Spanish", "pt": "Portuguese", "zh": "Chinese",
    "ja": "Japanese", "ko": "Korean", "pl": "Polish", "cs": "Czech", "uk": "Ukrainian", "tr": "Turkish",
    "fa": "Persian", "ar": "Arabic", "hu": "Hungarian", "sr": "Serbian", "it": "Italian", "el": "Greek",
    "sv": "Swedish", "nl": "Dutch", "he": "Hebrew", "ro": "Romanian", "bg": "Bulgarian", "vi": "Vietnamese",
}  # fmt: skip
# What web pages and some publishers put after a reference.
_LINKS = (
    "[CrossRef]", "[CrossRef] [PubMed]", "[Google Scholar] [CrossRef]", "[PubMed]", "doi", "Google Scholar",
    "[Google Scholar]", "Article Google Scholar", "Open access", "[PMC free article] [PubMed]",
    "(cit. on p. 12)",
)  # fmt: skip
_SUBJECTS = (" [cs.CL]", " [cs.LG]", " [quant-ph]", " [math.AG]", " [hep-th]", " [astro-ph.GA]")


@dataclass(frozen=True)
class Reference:
    """A printed reference and the places of its values."""

    text: str
    spans: tuple[Span, ...]

    def edited(self, *edits: Edit) -> Reference:
        """It after `edits`, which are disjoint."""
        text, spans = apply_edits(self.text, self.spans, sorted(edits))
        return Reference(text, tuple(spans))

    def first(self, field: str) -> Span | None:
        """The first value of `field`."""
        return next((span for span in self.spans if span.field == field), None)


@dataclass(frozen=True)
class Setting:
    """Where a reference is printed: in small capitals or not, as a footnote or in a list, in a language.

    `work_language` is the language of the work.
    """

    language: str
    work_language: str | None
    note: bool
    small_caps: bool


def as_printed(reference: Reference, setting: Setting, rng: random.Random) -> Reference:
    """`reference` as some list might have it."""
    changes: tuple[Callable[[Reference, Setting, random.Random], Reference], ...] = (
        _apart, _plain_spaces, _capitals, _year_letter, _subject, _repeated_author, _remark, _number,
    )  # fmt: skip
    for change in changes:
        reference = change(reference, setting, rng)
    return reference


def run_together(first: Reference, second: Reference, rng: random.Random) -> Reference:
    """Two references as one, with what a lost line end leaves between them."""
    between = rng.choice((" ", " ", " ", "", "; ", " — "))
    shift = len(first.text) + len(between)
    moved = (Span(s.start + shift, s.end + shift, s.field, s.role) for s in second.spans)
    return Reference(first.text + between + second.text, (*first.spans, *moved))


def _apart(reference: Reference, _: Setting, __: random.Random) -> Reference:
    places = glued(reference.text, reference.spans)
    return reference.edited(*((place, place, " ") for place in places))


def _plain_spaces(reference: Reference, _: Setting, rng: random.Random) -> Reference:
    """French and Russian style files print no-break spaces that a list may not have."""
    if rng.random() >= 0.6:
        return reference
    found = re.finditer("[\u00a0\u202f\u2009]", reference.text)
    return reference.edited(*((match.start(), match.end(), " ") for match in found))


def _capitals(reference: Reference, setting: Setting, rng: random.Random) -> Reference:
    """Surnames in capitals: what small capitals come out as."""
    if rng.random() >= (0.5 if setting.small_caps else 0.012):
        return reference
    surnames = (span for span in reference.spans if span.field == "surname")
    found = ((span.start, span.end, reference.text[span.start : span.end]) for span in surnames)
    return reference.edited(*((start, end, name.upper()) for start, end, name in found))


def _year_letter(reference: Reference, _: Setting, rng: random.Random) -> Reference:
    """`2010a`, where one author has several works of a year."""
    year = reference.first("year")
    authors_first = reference.spans and reference.spans[0].role is not None
    if not (
        year and authors_first and year.start < len(reference.text) / 2 and rng.random() < 0.05
    ):
        return reference
    if reference.text[year.end : year.end + 1].isalnum():
        return reference
    return reference.edited((year.end, year.end, rng.choice("aaabbc")))


def _subject(reference: Reference, _: Setting, rng: random.Random) -> Reference:
    found = re.search(r"\barXiv:\s?\d{4}\.\d{4,5}", reference.text)
    if found is None or rng.random() >= 0.3:
        return reference
    return reference.edited((found.end(), found.end(), rng.choice(_SUBJECTS)))


def _repeated_author(reference: Reference, _: Setting, rng: random.Random) -> Reference:
    """A dash for the author of the reference before, which nobody annotates."""
    people = _leading_people(reference.spans)
    if not people or people[0].start > 0 or rng.random() >= 0.015:
        return reference
    rest = tuple(span for span in reference.spans if span not in people)
    return Reference(reference.text, rest).edited((0, people[-1].end, rng.choice(_DASHES)))


def _leading_people(spans: Sequence[Span]) -> list[Span]:
    people: list[Span] = []
    for span in spans:
        if span.role != "author":
            break
        people.append(span)
    return people


def _remark(reference: Reference, setting: Setting, rng: random.Random) -> Reference:
    """The language of the work, or links that are not the reference's own, after its end."""
    draw = rng.random()
    end = len(reference.text)
    name = _LANGUAGES.get(setting.work_language or "")
    if draw < 0.02 and name and setting.language != setting.work_language:
        return reference.edited((end, end, " " + rng.choice(_REMARKS).format(name)))
    if 0.02 <= draw < 0.045:
        return reference.edited((end, end, " " + rng.choice(_LINKS)))
    return reference


def _number(reference: Reference, setting: Setting, rng: random.Random) -> Reference:
    """The number of a list, which styles count from 1; and the words that begin a footnote."""
    label = reference.first("label")
    number = str(int(10 ** rng.uniform(0, 2.4)))
    if label:
        if rng.random() < 0.4:
            rest = tuple(span for span in reference.spans if span is not label)
            after = re.compile(r"\s*").match(reference.text, label.end)
            return Reference(reference.text, rest).edited(
                (0, after.end() if after else label.end, "")
            )
        found = re.compile(r"(?<!\w)1(?!\w)").search(reference.text, label.start, label.end)
        return reference.edited((*found.span(), number)) if found else reference
    words = _FOOTNOTES.get(setting.language)
    if setting.note and words and rng.random() < 0.12:
        reference = reference.edited((0, 0, rng.choice(words)))
    if rng.random() < (0.25 if setting.note else 0.06):
        return _labelled(reference, rng.choice(_LABELS).format(number))
    return reference


def _labelled(reference: Reference, label: str) -> Reference:
    after = reference.edited((0, 0, label))
    return Reference(after.text, (Span(0, len(label.rstrip()), "label"), *after.spans))
