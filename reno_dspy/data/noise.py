"""Defects of text that came from PDF, and other ways to print it, put into training rows.

An edit changes the reference and moves the gold's spans with it: the target still repeats the
reference to the character.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

from pydantic import Field

from reno_dspy.base.config import Config
from reno_dspy.jats.edits import Edit, apply_edits, disjoint
from reno_dspy.jats.elements import TITLES
from reno_dspy.jats.spans import Span

_LABELLED = re.compile(r"\s*[\[(]?\d+[\].)]")
_WITH_SUBTITLES = frozenset({*TITLES, "source"})
_ISSUE_LABELS = (", H. ", ", Heft ", ", Nr. ", ", No. ", ", no. ", ", n. ", ", fasc. ")
_SEPARATOR = re.compile(r"\s*[,;]?\s*(?:and|und|et|e|y|&)?\s*")
# Common ones of several languages, for references that print them whole.
_GIVEN_NAMES = re.findall(
    r"\S+",
    """
    Maria Anna Elena Julia Laura Sophie Claire Isabelle Katharina Elisabeth Christine Sabine Ursula
    Petra Monika Heike Ingrid Hannah Rachel Susan Linda Patricia Barbara Nancy Margaret Helen Ruth Emily
    Giulia Francesca Chiara Paola Carmen Lucía Pilar Beatriz Fernanda Ana Inês Olga Natalia Yuki Mei Li
    Peter Thomas Michael Andreas Stefan Wolfgang Hans Hans-Peter Karl-Heinz Jürgen Günther Klaus Dieter
    Ulrich Matthias Johann Friedrich Heinrich Walter Niklas Gerhard Werner Robert John David James William
    Richard Charles George Edward Paul Mark Daniel Steven Kenneth Andrew Brian Jean Jean-Pierre Pierre
    François Jacques Michel Alain Luc Marc Giovanni Giuseppe Marco Paolo Antonio Luigi Carlo José Juan
    Carlos Luis Miguel Jorge João Paulo Pedro Luiz Ivan Sergei Vladimir Dmitri Jan Piotr Lars Erik Anders
    Ahmed Mohamed Hiroshi Kenji Wei Jun Min Raj Anil
    """,
)
_LABELS = ("{}. ", "[{}] ", "{} ", "({}) ", "{}.")
_HAN_OR_KANA = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_FULL_WIDTH = {
    ",": "，",
    ".": "．",
    ":": "：",
    ";": "；",
    "(": "（",
    ")": "）",
    "?": "？",
    "!": "！",
}
_PLAIN = {**dict.fromkeys("“”„«»‟", '"'), **dict.fromkeys("‘’‚‛", "'")}
_NO_BREAK = "\u00a0\u2009\u202f"
# Zero-width space, soft hyphen, byte order mark: what a PDF or a web page leaves between letters.
_ZERO_WIDTH = "\u200b\u00ad\ufeff"
# What optical character recognition takes for what.
_CONFUSED = {
    "rn": "m", "m": "rn", "cl": "d", "li": "h", "ii": "u", "e": "c", "c": "e", "O": "0", "0": "O",
    "l": "1", "1": "l", "I": "l", "S": "5", "5": "S", "B": "8", "é": "6", "ü": "ii", "ö": "o", "ß": "B",
    "ı": "i", "ñ": "n", "ç": "c", "и": "н", "н": "и", "ш": "щ", "日": "曰", "己": "已", "未": "末",
}  # fmt: skip
# Values in which one wrong character makes another one.
_EXACT = ("pub-id", "uri", "volume", "issue", "year", "fpage", "lpage")


class Noise(Config):
    """Defects of PDF text, and other ways to print, that rows get, each with its probability."""

    label: float = Field(0.0, ge=0, le=1, description="A label in front, such as `12. `.")
    lost_space: float = Field(0.0, ge=0, le=1, description="Spaces lost after punctuation.")
    hyphenation: float = Field(0.0, ge=0, le=1, description="A word broken as at a line end.")
    ligature: float = Field(0.0, ge=0, le=1, description="fi and fl as single characters.")
    full_names: float = Field(0.0, ge=0, le=1, description="Whole given names for initials.")
    slashes: float = Field(0.0, ge=0, le=1, description="Slashes between people.")
    locators: float = Field(0.0, ge=0, le=1, description="A label before the issue.")
    subtitles: float = Field(0.0, ge=0, le=1, description="A full stop before a subtitle.")
    accents: float = Field(0.0, ge=0, le=1, description="Accents as marks of their own (NFD).")
    full_width: float = Field(
        0.0, ge=0, le=1, description="Full-width punctuation, where there is Han or kana."
    )
    no_break: float = Field(0.0, ge=0, le=1, description="Some spaces that do not break.")
    zero_width: float = Field(0.0, ge=0, le=1, description="An invisible character in a word.")
    ocr: float = Field(0.0, ge=0, le=1, description="One or two characters misread.")
    quotes: float = Field(0.0, ge=0, le=1, description="Straight quotation marks.")
    dashes: float = Field(0.0, ge=0, le=1, description="Hyphens for dashes.")


def add_noise(
    plaintext: str, spans: Sequence[Span], noise: Noise, rng: random.Random
) -> tuple[str, list[Span]]:
    """The reference with defects drawn by `rng`, and its spans where they are now."""
    edits: list[Edit] = []
    if rng.random() < noise.lost_space:
        edits += [(m.end() - 1, m.end(), "") for m in _draw(r"[.,;:)] ", plaintext, rng, 2)]
    if rng.random() < noise.hyphenation:
        # Between two lower-case letters, four or more on each side.
        places = _draw(r"(?<=[^\W\d_A-Z]{4})(?=[^\W\d_A-Z]{4})", plaintext, rng, 1)
        edits += [(m.start(), m.start(), "- ") for m in places]
    if rng.random() < noise.ligature:
        found = re.finditer("f[il]", plaintext)
        edits += [(m.start(), m.end(), {"fi": "ﬁ", "fl": "ﬂ"}[m.group()]) for m in found]
    if rng.random() < noise.label and not _LABELLED.match(plaintext):
        edits.append((0, 0, rng.choice(_LABELS).format(rng.randint(1, 120))))
    edits += _styles(plaintext, sorted(spans), noise, rng)
    text, moved = apply_edits(plaintext, spans, disjoint(edits))
    for defects in (_punctuation, _misread, _unicode):
        text, moved = apply_edits(text, moved, disjoint(defects(text, moved, noise, rng)))
    return text, moved


def _styles(plaintext: str, spans: Sequence[Span], noise: Noise, rng: random.Random) -> list[Edit]:
    """Edits that print the same reference in another style."""
    edits: list[Edit] = []
    if rng.random() < noise.full_names:
        initials = [s for s in spans if s.field == "given-names" and _is_initials(plaintext, s)]
        edits += [(s.start, s.end, _full_name(rng)) for s in initials]
    if rng.random() < noise.slashes:
        edits += [(*gap, "/") for gap in _between_names(plaintext, spans)]
    if rng.random() < noise.locators:
        edits += _labelled_issue(plaintext, spans, rng.choice(_ISSUE_LABELS))
    if rng.random() < noise.subtitles:
        for span in spans:
            if (
                span.field in _WITH_SUBTITLES
                and (at := plaintext.find(": ", span.start, span.end)) >= 0
            ):
                edits.append((at, at + 1, "."))
    return edits


def _punctuation(text: str, spans: Sequence[Span], noise: Noise, rng: random.Random) -> list[Edit]:
    """Quotation marks, dashes and spaces as another font or another typist has them."""
    edits: list[Edit] = []
    if rng.random() < noise.quotes:
        edits += [(m.start(), m.end(), _PLAIN[m.group()]) for m in _each(_PLAIN, text)]
    if rng.random() < noise.dashes:
        edits += [(m.start(), m.end(), "-") for m in re.finditer("[–—]", text)]
    if rng.random() < noise.full_width and _HAN_OR_KANA.search(text):
        exact = [s for s in spans if s.field in ("pub-id", "uri")]
        for found in re.finditer(r"([,.:;()?!]) ?", text):
            inside = any(s.start <= found.start() < s.end for s in exact)
            number = found[1] in ",.:" and _between_digits(text, found.start())
            if not inside and not number:
                edits.append((found.start(), found.end(), _FULL_WIDTH[found[1]]))
    if rng.random() < noise.no_break:
        character = rng.choice(_NO_BREAK)
        edits += [(m.start(), m.end(), character) for m in _draw(" ", text, rng, 4)]
    return edits


def _misread(text: str, spans: Sequence[Span], noise: Noise, rng: random.Random) -> list[Edit]:
    """Characters that recognition took for others, outside of identifiers and numbers."""
    if rng.random() >= noise.ocr:
        return []
    exact = [s for s in spans if s.field in _EXACT]
    found = [
        m
        for m in _each(_CONFUSED, text)
        if not any(m.start() < s.end and s.start < m.end() for s in exact)
    ]
    chosen = rng.sample(found, min(rng.randint(1, 2), len(found)))
    return [(m.start(), m.end(), _CONFUSED[m.group()]) for m in chosen]


def _unicode(text: str, spans: Sequence[Span], noise: Noise, rng: random.Random) -> list[Edit]:
    """Accents as marks of their own, and characters that nobody sees."""
    edits: list[Edit] = []
    if rng.random() < noise.accents:
        forms = ((i, unicodedata.normalize("NFD", c)) for i, c in enumerate(text))
        edits += [(i, i + 1, form) for i, form in forms if form != text[i]]
    if rng.random() < noise.zero_width:
        character = rng.choice(_ZERO_WIDTH)
        places = _draw(r"(?<=[^\W\d_])(?=[^\W\d_])", text, rng, 2)
        edits += [(m.start(), m.start(), character) for m in places]
    return edits


def _each(forms: dict[str, str], text: str) -> list[re.Match[str]]:
    """Every place of a key of `forms`, the longest where several begin."""
    keys = "|".join(sorted(map(re.escape, forms), key=len, reverse=True))
    return list(re.finditer(keys, text))


def _between_digits(text: str, at: int) -> bool:
    return text[at - 1 : at].isdigit() and text[at + 1 : at + 2].isdigit()


def _between_names(plaintext: str, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """What stands between two people, where that is a comma, a semicolon or an `and`."""
    parts = [s for s in spans if s.field in ("surname", "given-names")]
    gaps = [(a.end, b.start) for a, b in pairwise(parts)
            if a.role == b.role and b.field == parts[0].field]  # fmt: skip
    return [gap for gap in gaps if _SEPARATOR.fullmatch(plaintext, *gap)]


def _labelled_issue(plaintext: str, spans: Sequence[Span], label: str) -> list[Edit]:
    """`12(3)` with a label before the issue instead of parentheses around it."""
    for volume, issue in pairwise(spans):
        around = plaintext[volume.end : issue.start].strip(), plaintext[issue.end : issue.end + 1]
        if (volume.field, issue.field, *around) == ("volume", "issue", "(", ")"):
            return [(volume.end, issue.start, label), (issue.end, issue.end + 1, "")]
    return []


def _is_initials(plaintext: str, span: Span) -> bool:
    return (
        re.fullmatch(r"(?:[^\W\d_a-z][.\s-]*){1,4}", plaintext[span.start : span.end]) is not None
    )


def _full_name(rng: random.Random) -> str:
    """One such as `Maria`, `Maria Elena` or `Maria E.` is drawn."""
    first, second = rng.choice(_GIVEN_NAMES), rng.choice(_GIVEN_NAMES)
    return rng.choice((first, first, f"{first} {second}", f"{first} {second[0]}."))


def _draw(pattern: str, text: str, rng: random.Random, most: int) -> list[re.Match[str]]:
    found = list(re.finditer(pattern, text))
    return rng.sample(found, min(most, len(found)))
