"""Rules of cleaning for people: initials, suffixes, `et al.`, bodies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from reno_dspy.jats.clean.edits import Spans, cut, each, overlapping, put, stripped, value_of
from reno_dspy.jats.elements import NAME_PARTS, PEOPLE, TITLES, WHOLE_PEOPLE
from reno_dspy.jats.phrases import ETAL
from reno_dspy.jats.spans import Span

_BEHIND = re.compile(r"[\s,;:.&()…]{0,6}(?:ed\w*\.?[\s,;)]{0,3})?")
_INITIALS = re.compile(r"(?:[^\W\d_a-z]{1,3}[.\s\u00a0'’‐‑-]*){1,5}")
_ENDS_IN_INITIAL = re.compile(r"(?:^|[\W_])[^\W\d_a-z]\Z")
_SUFFIX = (
    r"(?:Jr|JR|Sr|SR|J[uú]nior|J[UÚ]NIOR|Filho|FILHO|Neto|NETO|Sobrinho|SOBRINHO|II|III|IV|2nd|3rd)"
)
_WITH_SUFFIX = re.compile(rf"(.+?),?\s+({_SUFFIX}\.?)", re.DOTALL)
# A stop that what follows keeps from being the end of a sentence.
_WITHIN_SENTENCE = re.compile(r"\.\s*(?:[,;:&(]|[a-zà-ÿа-я])")
_BEFORE_ROLE = re.compile(
    r"(.+?),?\s+[(\[]?(?:eds?|hrsg|orgs?|coords?|comps?)\.?[)\]]?", re.IGNORECASE
)
_BODY = re.compile(r"\b(?:Inc|Ltd|Collab|Co|Corp|Cia|S\.A|LTD|INC|[A-Z]\.[A-Z])\.\Z")


def etal(text: str, spans: Spans, _: str | None) -> Spans:
    """`et al.` behind a name is one `etal`, with its full stop and nothing else."""
    people = PEOPLE | WHOLE_PEOPLE
    for found in ETAL.finditer(text):
        inside = overlapping(spans, *found.span())
        before = [
            s
            for s in spans
            if s.end <= found.start() and _BEHIND.fullmatch(text, s.end, found.start())
        ]
        near = [span for span in (*inside, *before[-1:]) if span.field in people]
        if near and all(span.field in people for span in inside):
            spans = put(text, spans, Span(*found.span(), "etal", near[0].role))
    return spans


def suffixes(text: str, spans: Spans, _: str | None) -> Spans:
    """`Jr`, `Filho`, `III` at the end of a name's part are a suffix of the name."""
    made: Spans = []
    for span in spans:
        found = _WITH_SUFFIX.fullmatch(value_of(text, span)) if span.field in NAME_PARTS else None
        if found and span.field != "suffix":
            made.append(replace(span, end=span.start + found.end(1)))
            start, end = found.span(2)
            made.append(
                replace(span, start=span.start + start, end=span.start + end, field="suffix")
            )
        else:
            made.append(span)
    return made


def initials(text: str, spans: Spans, _: str | None) -> Spans:
    """A full stop behind an initial belongs to it where the reference prints initials with stops."""
    names = [span for span in spans if span.field == "given-names"]
    dotted = _prints_stops(text, names)

    def change(span: Span) -> Span:
        bare = stripped(text, cut(text, span, _BEFORE_ROLE), ".,;:")
        value = value_of(text, bare)
        if text[bare.end : bare.end + 1] != "." or not _ENDS_IN_INITIAL.search(value):
            return bare
        own = dotted or _INITIALS.fullmatch(value) is None or _before_surname(text, bare, spans)
        return replace(bare, end=bare.end + 1) if own else bare

    return each(text, spans, ("given-names",), change)


def _prints_stops(text: str, names: Sequence[Span]) -> bool:
    """Whether initials have full stops, by those that no sentence ends with; else by a comma before."""
    votes = 0
    for span in names:
        value = value_of(text, span).rstrip(".,;: ")
        if not _INITIALS.fullmatch(value):
            continue
        end = span.start + len(value)
        if re.search(r"[^\W\d_a-z]\.", value):
            votes += 2
        elif re.search(r"[^\W\d_a-z]{2}", value):
            votes -= 2
        elif text.startswith(".", end):
            votes += span is not names[-1] or _WITHIN_SENTENCE.match(text, end) is not None
        elif span is not names[-1]:
            votes -= 1
    if votes or not names:
        return votes > 0
    return re.search(r",\s*\Z", text[: names[-1].start]) is not None


def _before_surname(text: str, span: Span, spans: Sequence[Span]) -> bool:
    following = next((s for s in spans if s.start >= span.end), None)
    gap = text[span.end : following.start] if following else ""
    return following is not None and following.field == "surname" and gap.strip(" \u00a0-") == "."


def name_edges(text: str, spans: Spans, _: str | None) -> Spans:
    """Names and bodies end where their letters do; a company's `Inc.` has its stop."""

    def change(span: Span) -> Span:
        bare = stripped(text, span, ",;:.")
        with_stop = replace(bare, end=bare.end + (text[bare.end : bare.end + 1] == "."))
        return with_stop if _BODY.search(value_of(text, with_stop)) else bare

    return each(text, spans, ("surname", "collab"), change)


def institutions(text: str, spans: Spans, _: str | None) -> Spans:
    """An institution before the title is a corporate author, one behind it the publisher."""
    titles = [span.start for span in spans if span.field in {*TITLES, "source"}]
    return [
        span
        if span.field != "institution"
        else replace(span, field="collab", role="author")
        if span.end <= min(titles, default=-1)
        else replace(span, field="publisher-name")
        for span in spans
    ]
