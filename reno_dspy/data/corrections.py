"""Corrections: references whose fields a person has looked at, in one file for each project folder.

A line of `corrections.jsonl` is one reference as it was saved. Of the same reference (letters and digits)
the last line holds. Accepted ones are a data set, which `--data FOLDER` reads: annotations made of the
marked characters, in train, dev and test.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from reno_dspy.base.errors import InputError
from reno_dspy.base.files import digest
from reno_dspy.base.jsonl import JsonlLog
from reno_dspy.data.split import side_of
from reno_dspy.jats.elements import LEAVES, PUBLICATION_TYPES
from reno_dspy.jats.identifiers import has_pid, identifiers
from reno_dspy.jats.spans import ILLEGAL, Span, render
from reno_dspy.jats.text import LONGEST, collapse, folded

FILE = "corrections.jsonl"
# The shares of what is saved that choose the best weights, and that measure before and after.
DEV, TEST = 0.1, 0.2
_SHOWN = 40
_TYPES = frozenset(kind.name for kind in PUBLICATION_TYPES)
_CLOSED = ConfigDict(extra="forbid", frozen=True)


class MarkedSpan(BaseModel):
    """Characters [start, end) of a reference that are one value of `field`, as `jats.spans.Span`.

    `confidence` is the system's, between 0 and 1; None for what a person marked.
    """

    model_config = _CLOSED

    start: int = Field(ge=0)
    end: int
    field: str
    role: str | None = Field(None, pattern=r"^[a-z][a-z0-9-]{0,30}$")
    confidence: float | None = Field(None, ge=0, le=1)


class Marked(BaseModel):
    """A reference with its marked fields. Refuses what no annotation can hold, in one sentence."""

    model_config = _CLOSED

    text: str
    publication_type: str | None = None
    spans: tuple[MarkedSpan, ...] = ()

    @model_validator(mode="after")
    def _can_be_annotated(self) -> Self:
        if problem := _problem(self):
            start = collapse(self.text)[:_SHOWN]
            raise ValueError(f"Reference {start!r}: {problem}.")
        return self

    def xml(self) -> str:
        """The annotation: a `mixed-citation` whose text is the reference."""
        spans = [Span(one.start, one.end, one.field, one.role) for one in self.spans]
        return render(self.text, spans, self.publication_type)


class Correction(Marked):
    """A reference as it is saved; only an accepted one is a row of the data set.

    `article` is the citing article, by DOI or by any name. `system` proposed the fields that the person
    corrected, with its `confidence` that all are right, while nobody has changed one. `saved_at` is the
    time in ISO 8601.
    """

    accepted: bool = False
    confidence: float | None = Field(None, ge=0, le=1)
    article: str | None = None
    licence: str | None = None
    system: str | None = None
    saved_at: str | None = None


@dataclass(frozen=True)
class Kept:
    """The last state of a reference, and the article with which it was first saved."""

    last: Correction
    article: str | None

    @property
    def side(self) -> str:
        """`train`, `dev` or `test`: by the hash of the citing article, or of the reference without one.

        The article is the first one, so that a reference never changes sides, whatever is saved later:
        what a model was trained on does not become what it is tested on.
        """
        return side_of(_folded(self.article or self.last.text), DEV, TEST)

    def record(self) -> dict[str, Any]:
        """The row as JSON, with its split."""
        last = self.last
        found = [one for one in identifiers(self.article or "") if one.kind == "doi"]
        doi = (self.article or "")[found[0].start : found[0].end] if found else None
        return {
            "id": key_of(last.text),
            "split": self.side,
            "plaintext": last.text,
            "xml": last.xml(),
            "source": "corrections",
            "citing_article_doi": doi,
            "citing_article_id": None if doi else self.article,
            "publication_type": last.publication_type,
            "has_pid": has_pid(last.text),
            "licence": last.licence,
            "provenance": f"{last.system}, corrected" if last.system else None,
        }


def key_of(text: str) -> str:
    """Sixteen hexadecimal digits that name a reference: those of its letters and digits."""
    return digest(_folded(text))


def merged(lines: Iterable[Correction], into: Mapping[str, Kept] | None = None) -> dict[str, Kept]:
    """`into` with `lines` saved after it: each reference once, by key, in the order of first saves."""
    found = dict(into or {})
    for one in lines:
        key = key_of(one.text)
        first = found.get(key)
        found[key] = Kept(one, first.article if first else one.article)
    return found


def read_corrections(folder: Path) -> dict[str, Kept]:
    """What is saved in `folder`, by key; a last line that a crash cut short is not read.

    Raises InputError naming a line that is not a correction.
    """
    return merged(_lines(folder / FILE))


def rows_by_split(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The accepted corrections of `folder` as records, train, dev and test first; no empty split.

    Raises InputError as `read_corrections` does, and when none is accepted.
    """
    rows: dict[str, list[dict[str, Any]]] = {"train": [], "dev": [], "test": []}
    for kept in read_corrections(folder).values():
        if kept.last.accepted:
            rows[kept.side].append(kept.record())
    if not any(rows.values()):
        raise InputError(
            f"{folder} holds no accepted correction. Open the page of `reno serve`, accept references "
            "and save them."
        )
    return {split: found for split, found in rows.items() if found}


def one_sentence(error: ValidationError) -> str:
    """What is wrong with a correction, for people."""
    problem = error.errors()[0]
    place = ".".join(map(str, problem["loc"]))
    said = problem["msg"].removeprefix("Value error, ")
    return said if problem["type"] == "value_error" else f"{place}: {said}."


def _lines(file: Path) -> Iterator[Correction]:
    for number, record in enumerate(JsonlLog(file).records(), start=1):
        try:
            yield Correction.model_validate(record)
        except ValidationError as error:
            raise InputError(
                f"{file}:{number} is not a correction. {one_sentence(error)} Mend or remove that line."
            ) from None


def _folded(text: str) -> str:
    # A text without a letter or digit stands for itself.
    return folded(text) or text


def _problem(marked: Marked) -> str | None:
    """Why no annotation can say this; None where one can."""
    text = marked.text
    if not text.strip():
        return "it has no text"
    if len(text) > LONGEST:
        return f"it has {len(text):,} characters, more than {LONGEST:,}"
    if found := ILLEGAL.search(text):
        return f"character {found.group()!r} at {found.start()} cannot stand in XML"
    if marked.publication_type is not None and marked.publication_type not in _TYPES:
        return f"{marked.publication_type!r} is not a publication type"
    before: MarkedSpan | None = None
    for span in sorted(marked.spans, key=lambda one: (one.start, one.end)):
        if span.field not in LEAVES:
            return f"{span.field!r} is not a field"
        if not span.start < span.end <= len(text):
            return f"{_shown(span)} is empty or ends after the reference"
        if before and span.start < before.end:
            return f"{_shown(before)} and {_shown(span)} overlap"
        before = span
    return None


def _shown(span: MarkedSpan) -> str:
    return f"{span.field} ({span.start}-{span.end})"
