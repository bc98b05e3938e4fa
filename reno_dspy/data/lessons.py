"""What a pair teaches: its reference, and where in it the gold's values stand.

Every row that a model learns is made here, and cleaned: `reno_dspy.jats.clean`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reno_dspy.data.dataset import Row
from reno_dspy.jats.citation import MalformedXml
from reno_dspy.jats.clean import clean_spans
from reno_dspy.jats.spans import Span, project

# Part of what a training run depends on: raise it when the same row would teach something else.
VERSION = 3


@dataclass(frozen=True)
class Lesson:
    """A reference, the places of its gold values and its publication type (None: not known).

    `missing` names the field of each value that was not found in the reference, `source` the platform
    or collection whose habits of annotating the row follows; `cleaned` counts the values that each rule
    of cleaning changed.
    """

    plaintext: str
    spans: tuple[Span, ...]
    publication_type: str | None
    missing: tuple[str, ...] = ()
    source: str = ""
    cleaned: Mapping[str, int] = field(default_factory=dict)


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
    made = clean_spans(row.plaintext, found.spans, found.publication_type)
    missing = tuple(name for name, _ in found.missing)
    return Lesson(
        row.plaintext, made.spans, found.publication_type, missing, row.source, made.changes
    )
