"""BIO labels of tokens: from spans, for training, and back to spans, for annotating.

`B-year` begins a year, `I-year` goes on with it, `O` is outside of all fields. Parts of names carry
their role: `B-surname:author`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

from reno_dspy.jats.spans import Span
from reno_dspy.systems.tokens import Token

OUTSIDE = "O"


def labels_of(tokens: Sequence[Token], spans: Sequence[Span], kept: Collection[str]) -> list[str]:
    """The label of each token under `spans`; fields that are not in `kept` are outside."""
    labels = [OUTSIDE] * len(tokens)
    position = 0
    for span in sorted(spans):
        while position < len(tokens) and tokens[position].start < span.start:
            position += 1
        first = position
        while position < len(tokens) and tokens[position].start < span.end:
            if field_of(span) in kept:
                labels[position] = f"{'B' if position == first else 'I'}-{field_of(span)}"
            position += 1
    return labels


def spans_of(tokens: Sequence[Token], labels: Sequence[str]) -> list[Span]:
    """The spans that `labels` mark; an I- without its B- begins a span of its own."""
    numbered: list[tuple[int, str]] = []
    number, last = 0, OUTSIDE
    for label in labels:
        number += label[:2] == "B-" or label[2:] != last[2:]
        numbered.append((number, label))
        last = label
    spans = []
    pairs = zip(numbered, tokens, strict=True)
    for _, group in groupby(pairs, key=lambda pair: pair[0][0]):
        inside = list(group)
        label = inside[0][0][1]
        if label != OUTSIDE:
            field, _, role = label[2:].partition(":")
            spans.append(Span(inside[0][1].start, inside[-1][1].end, field, role or None))
    return spans


def field_of(span: Span) -> str:
    """The field's name in labels, which tells names of authors from names of editors."""
    return f"{span.field}:{span.role}" if span.role else span.field
