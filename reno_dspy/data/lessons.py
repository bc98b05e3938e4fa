"""What a pair teaches: its reference, and where in it the gold's values stand."""

from __future__ import annotations

from dataclasses import dataclass

from reno_dspy.data.dataset import Row
from reno_dspy.jats.citation import MalformedXml
from reno_dspy.jats.spans import Span, project


@dataclass(frozen=True)
class Lesson:
    """A reference, the places of its gold values and its publication type (None: not known).

    `missing` names the field of each value that was not found in the reference, `source` the platform
    or collection whose habits of annotating the row follows.
    """

    plaintext: str
    spans: tuple[Span, ...]
    publication_type: str | None
    missing: tuple[str, ...] = ()
    source: str = ""


def lesson_of(row: Row) -> Lesson | str:
    """What `row` teaches; or, as one word, why its values cannot be placed."""
    if not row.plaintext or not row.plaintext.strip():
        return "no_plaintext"
    try:
        found = project(row.plaintext, row.xml)
    except MalformedXml:
        return "malformed_xml"
    except ValueError:
        return "illegal_character"
    missing = tuple(field for field, _ in found.missing)
    return Lesson(row.plaintext, found.spans, found.publication_type, missing, row.source)
