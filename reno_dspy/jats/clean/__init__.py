"""Gold annotations as the project's own conventions have them, for training.

Publishers differ: one keeps a title's full stop, another leaves `et al.` or a DOI untagged. What a model
learns should be one way. Each rule changes the spans of one reference; what it changed is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from reno_dspy.jats.clean import links, numbers, people, titles
from reno_dspy.jats.clean.edits import Rule
from reno_dspy.jats.spans import Span

# In the order of application: what is tagged at all, then what kind it is, then where it ends.
RULES: Mapping[str, Rule] = {
    "comments": numbers.comments,
    "years": numbers.years,
    "identifiers": links.tags,
    "identifier_edges": links.edges,
    "et_al": people.etal,
    "labels": numbers.label,
    "access_dates": numbers.access_dates,
    "suffixes": people.suffixes,
    "initials": people.initials,
    "name_edges": people.name_edges,
    "institutions": people.institutions,
    "title_edges": titles.edges,
    "kinds_of_titles": titles.kinds,
    "publisher_edges": titles.publishers,
    "editions": titles.editions,
    "volume_and_page_marks": numbers.marks,
    "issues": numbers.issues,
    "pages": numbers.pages,
}


@dataclass(frozen=True)
class Cleaned:
    """`spans` (disjoint, in order) by the conventions, and how many spans each rule changed."""

    spans: tuple[Span, ...]
    changes: Mapping[str, int]


def clean_spans(text: str, spans: Iterable[Span], publication_type: str | None = None) -> Cleaned:
    """The disjoint `spans` of one reference, cleaned. Where gold says nothing, nothing is added."""
    current = sorted(spans)
    changes: Counter[str] = Counter()
    for name, rule in RULES.items() if current else ():
        changed = disjoint(rule(text, current, publication_type))
        before, after = set(current), set(changed)
        changes[name] += max(len(before - after), len(after - before))
        current = changed
    return Cleaned(tuple(current), +changes)


def disjoint(spans: Iterable[Span]) -> list[Span]:
    """`spans` in order, each cut where the next one begins."""
    ordered = sorted(spans)
    for i, following in enumerate(ordered[1:]):
        if ordered[i].end > following.start:
            ordered[i] = replace(ordered[i], end=following.start)
    return [span for span in ordered if span.start < span.end]
