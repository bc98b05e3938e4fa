"""Small steps that the rules of cleaning share: move a span's edges, replace spans, look around."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from reno_dspy.jats.spans import Span

Spans = list[Span]
# A rule has the reference, its spans in order and the publication type, and gives the spans anew.
Rule = Callable[[str, Spans, str | None], Spans]


def value_of(text: str, span: Span) -> str:
    """The characters of `span`."""
    return text[span.start : span.end]


def stripped(text: str, span: Span, characters: str) -> Span:
    """`span` without white space and `characters` at its edges; empty where it has nothing else."""
    value = value_of(text, span)
    end = span.start + len(value.rstrip(characters + " \t\n\r\u00a0"))
    start = span.start + len(value) - len(value.lstrip(characters + " \t\n\r\u00a0"))
    return replace(span, start=min(start, end), end=end)


def cut(text: str, span: Span, pattern: re.Pattern[str]) -> Span:
    """`span` narrowed to the group of `pattern`, where that matches the whole value."""
    found = pattern.fullmatch(value_of(text, span))
    if found is None:
        return span
    start, end = found.span(1)
    return replace(span, start=span.start + start, end=span.start + end)


def each(
    text: str, spans: Sequence[Span], fields: Iterable[str], change: Callable[[Span], Span]
) -> Spans:
    """`spans` with `change` applied to those of `fields`; what becomes empty is left out."""
    wanted = frozenset(fields)
    changed = (change(span) if span.field in wanted else span for span in spans)
    return [span for span in changed if value_of(text, span).strip()]


def put(text: str, spans: Sequence[Span], new: Span) -> Spans:
    """`spans` with `new`; what overlaps it gives way, down to what is left of it on either side."""
    kept = [new]
    for span in spans:
        if span.end <= new.start or new.end <= span.start:
            kept.append(span)
            continue
        for part in (replace(span, end=new.start), replace(span, start=new.end)):
            if part.start < part.end and re.search(r"[^\W\d_]", value_of(text, part)):
                kept.append(stripped(text, part, ",;:&"))
    return sorted(kept)


def overlapping(spans: Iterable[Span], start: int, end: int) -> Spans:
    """The spans that share a character with [start, end)."""
    return [span for span in spans if span.start < end and start < span.end]
