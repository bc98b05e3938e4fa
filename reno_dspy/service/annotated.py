"""Annotated references as the service answers them in JSON: values by their places in the text."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, Field

from reno_dspy.annotate.files import Answer, with_label
from reno_dspy.jats.citation import parse
from reno_dspy.jats.ref_list import faithful
from reno_dspy.jats.spans import ILLEGAL, Span, project
from reno_dspy.jats.text import collapse
from reno_dspy.systems import ValueJson


class AnnotatedSpan(BaseModel):
    """Characters [start, end) of the text (code points) that are one value of a JATS field.

    `role` is the person-group-type of people and their names, the pub-id-type of an identifier.
    `confidence` is between 0 and 1, null where the system has none.
    """

    start: int
    end: int
    field: str
    role: str | None = None
    confidence: float | None = None


class AnnotatedReference(BaseModel):
    """One reference; `xml` is null where `error` says why there is no annotation.

    `xml` is a JATS mixed-citation whose text is `text`. `confidence` is how sure the system is that every
    field is right, null where it has no idea.
    """

    text: str
    publication_type: str | None = None
    xml: str | None = None
    confidence: float | None = None
    spans: list[AnnotatedSpan] = Field(default_factory=list)
    error: str | None = None


class AnnotatedList(BaseModel):
    """The references of a request, in their order, and the system that annotated them."""

    system: str
    references: list[AnnotatedReference]


def annotated(answer: Answer) -> AnnotatedReference:
    """An answer as JSON, its spans found in its annotation."""
    whole = answer["label"] + answer["text"]
    annotation = answer["annotation"]
    if annotation is None:
        return AnnotatedReference(text=ILLEGAL.sub("\ufffd", whole), error=answer["error"])
    xml = faithful(whole, with_label(annotation, answer["label"]))
    found = project(whole, xml)
    return AnnotatedReference(
        text=whole,
        publication_type=found.publication_type,
        xml=xml,
        confidence=answer.get("confidence"),
        spans=_spans(whole, found.spans, xml, answer.get("values") or ()),
    )


def _spans(
    text: str, spans: Sequence[Span], xml: str, values: Iterable[ValueJson]
) -> list[AnnotatedSpan]:
    """`spans` of `text` with the types of the identifiers in `xml` and the confidences of `values`."""
    kinds = [element.get("pub-id-type") for element in parse(xml).iter("{*}pub-id")]
    known = iter(kinds if len(kinds) == sum(one.field == "pub-id" for one in spans) else ())
    sure: dict[tuple[str, str], deque[float | None]] = defaultdict(deque)
    for value in values:
        sure[value["field"], value["value"]].append(value["confidence"])

    def shown(one: Span) -> AnnotatedSpan:
        role = next(known, None) if one.field == "pub-id" else one.role
        same = sure[one.field, collapse(text[one.start : one.end])]
        confidence = same.popleft() if same else None
        return AnnotatedSpan(
            start=one.start, end=one.end, field=one.field, role=role, confidence=confidence
        )

    return [shown(one) for one in spans]
