"""Defects of text that came from PDF, put into training rows so that a model has seen them.

An edit changes the reference and moves the gold's spans with it: the target still repeats the
reference to the character.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from finetune.recipe import Noise
from reno_dspy.jats.elements import TITLES
from reno_dspy.jats.spans import Span

# (start, end, replacement) in the original text.
Edit = tuple[int, int, str]
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
    return apply_edits(plaintext, spans, _disjoint(edits))


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


def apply_edits(
    plaintext: str, spans: Sequence[Span], edits: Sequence[Edit]
) -> tuple[str, list[Span]]:
    """`plaintext` after disjoint `edits`, sorted by place, with `spans` moved along."""
    pieces: list[str] = []
    place = 0
    for start, end, text in edits:
        pieces += [plaintext[place:start], text]
        place = end
    pieces.append(plaintext[place:])
    moved = [
        replace(s, start=_moved(s.start, edits, True), end=_moved(s.end, edits, False))
        for s in spans
    ]
    return "".join(pieces), [span for span in moved if span.start < span.end]


def _moved(position: int, edits: Iterable[Edit], is_start: bool) -> int:
    """Where a border at `position` is after `edits`; text inserted right at it stays outside."""
    shift = 0
    for start, end, text in edits:
        if end < position or (end == position and (is_start or start < end)):
            shift += len(text) - (end - start)
        elif start < position < end:
            return start + shift + (0 if is_start else len(text))
    return position + shift


def _draw(pattern: str, text: str, rng: random.Random, most: int) -> list[re.Match[str]]:
    found = list(re.finditer(pattern, text))
    return rng.sample(found, min(most, len(found)))


def _disjoint(edits: list[Edit]) -> list[Edit]:
    kept: list[Edit] = []
    for edit in sorted(edits):
        if not kept or edit[0] >= kept[-1][1]:
            kept.append(edit)
    return kept
