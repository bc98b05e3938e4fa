"""Annotations in place: labelled spans of a reference, and gold fields projected onto it.

`render` is the one way from labelled spans to XML, for training targets and for every tagger: the
result is one well-formed `mixed-citation` whose text is the reference, to the character.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from reno_dspy.jats.align import Leaf, place
from reno_dspy.jats.citation import Element, name_of, parse
from reno_dspy.jats.elements import (
    LEAVES,
    NAME_PARTS,
    PEOPLE,
    SYNONYMS,
    WHOLE_PEOPLE,
    publication_type,
)
from reno_dspy.jats.identifiers import kind_of

# Between two parts of one name stand at most a comma and white space.
_NAME_GAP = re.compile(r"[\s,.\u00a0]*\Z")
# What no XML document can hold: control characters, lone surrogates.
ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, order=True)
class Span:
    """Characters [start, end) of a reference that are one value of `field`.

    `role` is the person-group-type (author, editor, ...) of names and their parts; of a pub-id its
    pub-id-type, where that is known otherwise than by its form.
    """

    start: int
    end: int
    field: str
    role: str | None = None


@dataclass(frozen=True)
class Projection:
    """Gold placed on the plain text; `missing` has (field, value) of what found no place."""

    xml: str
    spans: tuple[Span, ...]
    missing: tuple[tuple[str, str], ...]
    publication_type: str | None


def project(plaintext: str, gold_xml: str) -> Projection:
    """Place the values of `gold_xml` in `plaintext`.

    Gold that already is in place is taken as it is; else exact forms come first, then fuzzy ones within
    word boundaries, repeated values in order. Raises MalformedXml for `gold_xml`, ValueError for
    characters that XML cannot hold.
    """
    root = parse(gold_xml)
    text, leaves = _walk(root)
    missing: list[tuple[str, str]] = []
    if text.split() == plaintext.split():
        spans = _moved(text, plaintext, leaves)
    else:
        placed, missing = place(plaintext, [leaf for leaf in leaves if leaf.value])
        spans = [Span(start, end, leaf.field, leaf.role) for leaf, start, end in placed]
    kind = publication_type(root)
    return Projection(render(plaintext, spans, kind), tuple(sorted(spans)), tuple(missing), kind)


def render(plaintext: str, spans: Iterable[Span], publication_type: str | None = None) -> str:
    """The `mixed-citation` that tags `spans` (disjoint, any order) in `plaintext`.

    Its text is `plaintext`. Parts of a name become a `string-name`; neighbouring people of one role, a
    `person-group`. Raises ValueError for overlapping spans or characters that XML cannot hold.
    """
    if illegal := ILLEGAL.search(plaintext):
        raise ValueError(f"character {illegal.group()!r} at {illegal.start()} cannot stand in XML")
    kind = f" publication-type={quoteattr(publication_type)}" if publication_type else ""
    pieces = [f"<mixed-citation{kind}>"]
    position = 0
    for group in _people_groups(plaintext, _checked(plaintext, spans)):
        pieces.append(_text(plaintext[position : group[0].start]))
        pieces.append(_render_group(plaintext, group))
        position = group[-1].end
    return "".join([*pieces, _text(plaintext[position:]), "</mixed-citation>"])


def _checked(plaintext: str, spans: Iterable[Span]) -> list[Span]:
    ordered = sorted(spans)
    end = 0
    for span in ordered:
        if not end <= span.start < span.end <= len(plaintext):
            raise ValueError(f"{span} overlaps another one, is empty or lies outside the reference")
        end = span.end
    return ordered


def _people_groups(plaintext: str, spans: Sequence[Span]) -> list[list[Span]]:
    """Neighbouring people of one role together, every other span alone."""
    groups: list[list[Span]] = []
    for span in spans:
        last = groups[-1][-1] if groups else None
        if last and last.field in PEOPLE and span.field in PEOPLE and last.role == span.role:
            groups[-1].append(span)
        else:
            groups.append([span])
    return groups


def _render_group(plaintext: str, group: Sequence[Span]) -> str:
    if group[0].field not in PEOPLE:
        return _element(plaintext, group[0])
    pieces: list[str] = []
    position = group[0].start
    for name in _names(plaintext, group):
        inside: list[str] = []
        for span in name:
            gap = _text(plaintext[position : span.start])
            (inside if span is not name[0] else pieces).append(gap)
            inside.append(_element(plaintext, span))
            position = span.end
        content = "".join(inside)
        pieces.append(f"<string-name>{content}</string-name>" if _is_part(name[0]) else content)
    people = "".join(pieces)
    role = group[0].role
    return (
        f"<person-group person-group-type={quoteattr(role)}>{people}</person-group>"
        if role
        else people
    )


def _names(plaintext: str, group: Sequence[Span]) -> list[list[Span]]:
    """The parts of each name together. A part that the name already has begins the next name."""
    names: list[list[Span]] = []
    for span in group:
        name = names[-1] if names else []
        joins = (
            bool(name)
            and _is_part(span)
            and _is_part(name[-1])
            and span.field not in {part.field for part in name}
            and _NAME_GAP.match(plaintext[name[-1].end : span.start]) is not None
        )
        if joins:
            name.append(span)
        else:
            names.append([span])
    return names


def _is_part(span: Span) -> bool:
    return span.field in NAME_PARTS


def _element(plaintext: str, span: Span) -> str:
    value = plaintext[span.start : span.end]
    attribute = ""
    if span.field == "pub-id":
        attribute = f' pub-id-type="{span.role or kind_of(value)}"'
    elif span.field == "size":
        attribute = ' units="pages"'
    elif span.field == "person-group" and span.role:
        attribute = f" person-group-type={quoteattr(span.role)}"
    return f"<{span.field}{attribute}>{_text(value)}</{span.field}>"


def _text(text: str) -> str:
    # A parser would turn a bare carriage return into a line feed.
    return escape(text).replace("\r", "&#13;")


def _walk(root: Element) -> tuple[str, list[Leaf]]:
    """The whole text of `root` and its innermost value elements, with offsets in that text."""
    pieces: list[str] = []
    leaves: list[Leaf] = []
    length = 0

    def add(text: str | None) -> None:
        nonlocal length
        if text:
            pieces.append(text)
            length += len(text)

    def visit(element: Element, role: str | None) -> None:
        name = SYNONYMS.get(name_of(element), name_of(element))
        role = element.get("person-group-type", "author") if name == "person-group" else role
        start, known = length, len(leaves)
        add(element.text)
        for child in element:
            visit(child, role)
            add(child.tail)
        if name in LEAVES and len(leaves) == known and element is not root:
            people = name in PEOPLE | WHOLE_PEOPLE
            value = "".join(pieces)[start:length]
            leaves.append(Leaf(name, value, start, length, (role or "author") if people else None))

    visit(root, None)
    return "".join(pieces), leaves


def _moved(text: str, plaintext: str, leaves: Sequence[Leaf]) -> list[Span]:
    """Spans of `leaves` in `plaintext`, which differs from `text` in white space alone."""
    to = [i for i, character in enumerate(plaintext) if not character.isspace()]
    ordinal = [0]
    for character in text:
        ordinal.append(ordinal[-1] + (not character.isspace()))
    spans = []
    for leaf in leaves:
        first, last = ordinal[leaf.start], ordinal[leaf.end]
        if first < last:
            spans.append(Span(to[first], to[last - 1] + 1, leaf.field, leaf.role))
    return spans
