"""Rules of cleaning for identifiers and addresses."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise

from reno_dspy.jats.clean.edits import Spans, each, overlapping, put, stripped, value_of
from reno_dspy.jats.elements import TITLES, WHOLE_PEOPLE
from reno_dspy.jats.identifiers import URI, Identifier, identifiers
from reno_dspy.jats.spans import Span

_LINKS = ("pub-id", "uri")
# There gold names an identifier in a text, or its form is an accident.
_PROSE = frozenset({*TITLES, "trans-title", "collab", *WHOLE_PEOPLE})


def tags(text: str, spans: Spans, _: str | None) -> Spans:
    """Every identifier is tagged, alone; an address without the words around it."""
    return tagged(text, spans, _PROSE)


def tagged(text: str, spans: Spans, untouched: Collection[str]) -> Spans:
    """`spans` with every identifier of `text` tagged that is not inside a value of `untouched` fields."""
    for one in identifiers(text):
        inside = overlapping(spans, one.printed, one.end)
        known = [span for span in inside if span.field in _LINKS]
        if _are_glued(text, known) or any(span.field in untouched for span in inside):
            continue
        end = min([one.end, *(span.end for span in known if _goes_on(text, span, one))])
        new = Span(one.start, end, "uri" if one.kind == URI else "pub-id")
        spans = put(text, [span for span in spans if not _gives_way(span, one)], new)
    return spans


def _are_glued(text: str, known: Sequence[Span]) -> bool:
    """Whether a lost space made one of two identifiers: `10.5555/a1.12345678`."""
    return any(
        text[one.end : other.start] in (".", ",", ";", "") and value_of(text, other).isdigit()
        for one, other in pairwise(known)
    )


def _goes_on(text: str, span: Span, one: Identifier) -> bool:
    """Whether `one` takes in what a lost space glued to the end of the tagged `span`."""
    return one.start < span.end < one.end and text[span.end] in ".,;"


def _gives_way(span: Span, one: Identifier) -> bool:
    """Whether `span` is a link or a remark around the identifier, or a piece of it."""
    if span.end <= one.printed or one.end <= span.start:
        return False
    return span.field in (*_LINKS, "comment") or (
        one.printed <= span.start and span.end <= one.end + 1
    )


def edges(text: str, spans: Spans, _: str | None) -> Spans:
    """Identifiers end without punctuation; a link's text that is no address is none."""
    bare = each(text, spans, _LINKS, lambda span: stripped(text, span, ".,;:"))
    return [s for s in bare if s.field != "uri" or re.search(r"[./]\w", value_of(text, s))]
