"""Fields that a gold annotation may have left out, so that their absence teaches nothing.

Publishers' annotations are incomplete in two ways. A source may not use an element at all (SciELO
tags no `etal`), or leave one out now and then (a journal article without its title). A word that
such a gold leaves untagged is either outside of all fields or part of an omitted one, and the loss
accepts both.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from reno_dspy.data.lessons import Lesson
from reno_dspy.systems.bio import field_of

# A source that has a field in fewer of its rows does not annotate it.
_UNUSED = 0.005
# A field that at least this share of a source's rows of one publication type have is usual there.
_USUAL = 0.5
# Too few rows to judge a source by.
_ENOUGH = 50
# No source leaves its authors out, though some do not split their names.
_ALWAYS = frozenset({"surname:author", "given-names:author", "collab:author"})


class Omissions:
    """Which fields the gold of a lesson may have omitted, learnt from all `lessons`."""

    def __init__(self, lessons: Iterable[Lesson], fields: Iterable[str]) -> None:
        self._fields = frozenset(fields) - _ALWAYS
        self._rows: Counter[str] = Counter()
        self._kinds: Counter[tuple[str, str | None]] = Counter()
        self._in_source: dict[str, Counter[str]] = defaultdict(Counter)
        self._in_kind: dict[tuple[str, str | None], Counter[str]] = defaultdict(Counter)
        for lesson in lessons:
            kind = lesson.source, lesson.publication_type
            present = {field_of(span) for span in lesson.spans}
            self._rows[lesson.source] += 1
            self._kinds[kind] += 1
            self._in_source[lesson.source].update(present)
            self._in_kind[kind].update(present)

    def of(self, lesson: Lesson) -> frozenset[str]:
        """The fields that an untagged word of `lesson` may belong to."""
        source, kind = lesson.source, (lesson.source, lesson.publication_type)
        rows, alike = self._rows[source], self._kinds[kind]
        if rows < _ENOUGH:
            return frozenset()
        unused = {f for f in self._fields if self._in_source[source][f] < _UNUSED * rows}
        present = {field_of(span) for span in lesson.spans}
        usual = {f for f in self._fields - present if self._in_kind[kind][f] >= _USUAL * alike}
        return frozenset(unused | usual)
