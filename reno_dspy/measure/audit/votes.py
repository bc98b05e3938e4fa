"""One reference as the gold and several voters annotate it, all placed on its text.

The voters are the systems whose predictions are given and the project's rules for annotations
(`jats.clean`), which know neither model nor training data. Answers are put in the form of those rules
first, so that systems do not differ by a full stop.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reno_dspy.jats.citation import MalformedXml, read
from reno_dspy.jats.clean import clean_spans
from reno_dspy.jats.elements import TITLES, WHOLE_PEOPLE
from reno_dspy.jats.spans import Span, project
from reno_dspy.measure.records import Record

RULES = "rules"
# A value's place: where it begins and ends in the reference, and its element.
Place = tuple[int, int, str]

_THESIS = re.compile(
    r"\b(?:thes[ie]s|dissertation|diss\.|habilitation|tese|disserta[cç][aã]o|tesis|doctora\w*|"
    r"mestrado|doutorado|ma[eî]trise|tesi)\b",
    re.IGNORECASE,
)
_REPORT = re.compile(
    r"\b(?:(?:working|discussion|policy)\s+papers?|technical\s+report|research\s+report|"
    r"arbeitspapier|relat[oó]rio|forschungsbericht|documento\s+de\s+trabajo)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Annotation:
    """A voter's spans by place, and the type of the cited work (None: not said)."""

    spans: Mapping[Place, Span]
    kind: str | None


@dataclass(frozen=True)
class Ballot:
    """What the gold and the voters say of one reference.

    `gold` are the gold's spans as they are, `rules` those that the rules make of them. `missing` are
    gold values that are not in the text. A voter without a readable answer is not in `voters`.
    """

    record: Record
    gold: Annotation
    rules: Annotation
    missing: Sequence[tuple[str, str]]
    voters: Mapping[str, Annotation]

    @property
    def text(self) -> str:
        """The reference."""
        return str(self.record["plaintext"])

    def supporters(self, place: Place) -> frozenset[str]:
        """The voters that have a value there; the rules where they changed the gold."""
        names = {name for name, one in self.voters.items() if place in one.spans}
        ruled = place in self.rules.spans and place not in self.gold.spans
        return frozenset(names | {RULES} if ruled else names)

    def supporters_of_kind(self, kind: str) -> frozenset[str]:
        """The voters that take the work for one of this type."""
        names = {name for name, one in self.voters.items() if one.kind == kind}
        return frozenset(
            names | {RULES} if kind_by_rules(self.text, self.voters) == kind else names
        )


def ballot(record: Record, answers: Mapping[str, str]) -> Ballot | None:
    """The ballot on a reference; None where the gold cannot be placed on its text."""
    text = record.get("plaintext") or ""
    try:
        found = project(text, record["xml"])
    except (MalformedXml, ValueError):
        return None
    gold = _annotation(found.spans, found.publication_type)
    ruled = clean_spans(text, found.spans, found.publication_type)
    voters = {name: _answered(text, answer) for name, answer in answers.items()}
    known = {name: one for name, one in voters.items() if one is not None}
    return Ballot(
        record, gold, _annotation(ruled.spans, found.publication_type), found.missing, known
    )


def _answered(text: str, answer: str) -> Annotation | None:
    xml = read(answer).xml
    try:
        found = project(text, xml or "")
    except (MalformedXml, ValueError):
        return None
    made = clean_spans(text, found.spans, found.publication_type)
    # People who were not split say nothing about their names.
    split = (span for span in made.spans if span.field not in WHOLE_PEOPLE)
    return _annotation(split, found.publication_type)


def _annotation(spans: Iterable[Span], kind: str | None) -> Annotation:
    return Annotation({(span.start, span.end, span.field): span for span in spans}, kind)


def kind_by_rules(text: str, voters: Mapping[str, Annotation]) -> str | None:
    """The type of the work by its words, else by the elements that every voter found; None: not sure."""
    if _THESIS.search(text):
        return "thesis"
    if _REPORT.search(text):
        return "report"
    fields = [{field for _, _, field in one.spans} for one in voters.values()]
    common = set.intersection(*fields) if fields else set()
    if "chapter-title" in common:
        return "book"
    if "conf-name" in common:
        return "confproc"
    titled = bool(common & set(TITLES))
    if titled and {"source", "volume"} <= common:
        return "journal"
    if "source" in common and not titled and common & {"publisher-name", "publisher-loc"}:
        return "book"
    return None
