"""The people of a printed reference: parts of names, bodies, et al."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from reno_dspy.jats.spans import Span
from reno_dspy.synthesize.kinds import Work
from reno_dspy.synthesize.marks import Mark
from reno_dspy.synthesize.styles import Initials
from reno_dspy.synthesize.trim import Unplaced

_ROLES = {
    "author": "author", "container-author": "author", "editor": "editor",
    "collection-editor": "editor", "editorial-director": "editor", "editor-translator": "editor",
    "editortranslator": "editor", "translator": "translator", "director": "director",
}  # fmt: skip
_INITIAL = re.compile(r"(?:.*[\s.-])?[^\W\d_]{1,2}\.")
_UNDOTTED = re.compile(r"[^\W\d_a-z]{2,}\.")


def people_spans(text: str, marks: Sequence[Mark], work: Work, initials: Initials) -> list[Span]:
    """The parts of every name, in order.

    `initials` is how the style writes them. Raises Unplaced for a role that is not annotated
    or a name whose parts do not stand as names do.
    """
    spans: list[Span] = []
    for mark in marks:
        if mark.kind == "person":
            parts = [
                m for m in marks if m.kind == "name" and mark.start <= m.start and m.end <= mark.end
            ]
            spans += _person(text, parts, _role(mark.name), work, initials)
        elif mark.kind == "body":
            spans += _trim(text, mark.start, mark.end, "collab", _role(mark.name))
    for mark in marks:
        if mark.kind == "etal":
            before = [span for span in spans if span.end <= mark.start]
            role = (max(before).role if before else None) or "author"
            spans += _trim(text, mark.start, mark.end, "etal", role, stop=True)
    return sorted(spans)


def _role(variable: str) -> str:
    try:
        return _ROLES[variable]
    except KeyError:
        raise Unplaced("role") from None


def _person(
    text: str, parts: Sequence[Mark], role: str, work: Work, initials: Initials
) -> Iterable[Span]:
    """The spans of one person. A particle belongs to the name part that it stands at."""
    kinds = [part.name for part in parts]
    if kinds.count("family") > 1 or kinds.count("given") > 1:
        raise Unplaced("name_twice")
    spans: dict[str, tuple[int, int]] = {}
    for part in parts:
        if part.name != "particle":
            spans[part.name] = (part.start, part.end)
    for part in parts:
        if part.name == "particle":
            _join_particle(text, part, spans)
    family, given = spans.get("family"), spans.get("given")
    if family and not given and work.item.language == "th" and " " in text[slice(*family)]:
        border = text.index(" ", *family)
        given, family = (family[0], border), (border + 1, family[1])
    if family is None:
        # A single name is a surname.
        family, given = given, None
    if family:
        yield from _trim(text, *family, "surname", role)
    if given:
        yield from _trim(
            text, *given, "given-names", role, stop=_keeps_stop(text, given, work, initials)
        )
    if "suffix" in spans:
        yield from _trim(text, *spans["suffix"], "suffix", role, stop=True)


def _join_particle(text: str, particle: Mark, spans: dict[str, tuple[int, int]]) -> None:
    for kind, (start, end) in spans.items():
        if particle.end <= start and re.fullmatch(r"[\s\u00a0'’-]*", text[particle.end : start]):
            spans[kind] = (particle.start, end)
            return
    for kind, (start, end) in spans.items():
        if end <= particle.start and not text[end : particle.start].strip(" \u00a0"):
            spans[kind] = (start, particle.end)
            return
    raise Unplaced("particle")


def _keeps_stop(text: str, given: tuple[int, int], work: Work, initials: Initials) -> bool:
    """Whether a full stop at the end of given names is an initial's and not the sentence's."""
    value = text[slice(*given)].rstrip(" ,;")
    if _UNDOTTED.search(value) or not _INITIAL.fullmatch(value):
        return False
    if initials == "as_given":
        people = (person for role in _ROLES for person in work.csl.get(role, ()))
        return any(value == person.get("given") for person in people)
    return initials == "stops"


def _trim(
    text: str, start: int, end: int, field: str, role: str, *, stop: bool = False
) -> Iterable[Span]:
    while start < end and not (text[start].isalnum() or text[start] in "‘’'ʻʼ…"):
        start += 1
    stripped = " \u00a0,;:·、，" if stop else " \u00a0,;:.·、，"
    while end > start and text[end - 1] in stripped:
        end -= 1
    if any(character.isalnum() for character in text[start:end]):
        yield Span(start, end, field, role)


def glued(text: str, spans: Sequence[Span]) -> list[int]:
    """Where a space belongs between the parts of a name that were printed as one word.

    The engine joins names that are not in Latin, Cyrillic or Greek letters, which is right for Han, kana
    and Hangul alone.
    """
    return [
        a.end
        for a, b in pairwise(spans)
        if a.end == b.start
        and {a.field, b.field} == {"surname", "given-names"}
        and not re.match(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]", text[a.end :])
    ]
