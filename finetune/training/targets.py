"""The labels that a tagger learns for the words of a lesson, as far as they are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from reno_dspy.data.lessons import Lesson
from reno_dspy.jats.elements import PEOPLE, WHOLE_PEOPLE
from reno_dspy.jats.spans import Span
from reno_dspy.systems.bio import OUTSIDE, field_of, labels_of
from reno_dspy.systems.tagger.labels import TYPE, Labels
from reno_dspy.systems.tokens import Token

# The target where there is nothing to learn, by transformers' convention.
NOTHING = -100


class Targets:
    """Targets over `labels`.

    A target is the number of a label, or, from `len(labels.names)` on, of a set of labels of which the
    right one is not known (`sets`).
    """

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self.number = {name: i for i, name in enumerate(labels.names)}
        found = {name.partition(":")[2] for name in labels.words if ":" in name}
        # The person-group-types, each of which has two sets of labels.
        self._roles = tuple(sorted(found))
        # Fields that a gold may have omitted -> the target of its untagged words.
        self._open_to: dict[frozenset[str], int] = {}

    def sets(self) -> NDArray[np.bool_]:
        """(targets, labels): which labels are right for each target that was given so far."""
        count = len(self.labels.names)
        rows = np.eye(count, dtype=np.bool_)
        people = np.zeros((2 * len(self._roles), count), dtype=np.bool_)
        for i, role in enumerate(self._roles):
            for field in PEOPLE - WHOLE_PEOPLE:
                for label in (f"B-{field}:{role}", f"I-{field}:{role}"):
                    if label in self.number:
                        people[2 * i : 2 * i + 2, self.number[label]] = True
            people[2 * i, self.number[OUTSIDE]] = True
        opened = np.zeros((len(self._open_to), count), dtype=np.bool_)
        for row, fields in zip(opened, self._open_to, strict=True):
            row[[self.number[f"{prefix}-{field}"] for field in fields for prefix in "BI"]] = True
            row[self.number[OUTSIDE]] = True
        return np.concatenate([rows, people, opened])

    def of_words(
        self,
        words: Sequence[Token],
        spans: Sequence[Span],
        omitted: frozenset[str] = frozenset(),
    ) -> list[int]:
        """The target of each word under `spans`; names that are not split leave their inside open.

        An untagged word may also belong to one of the fields `omitted`.
        """
        kept = {name[2:] for name in self.labels.words[1:]}
        targets = [self.number[label] for label in labels_of(words, spans, kept)]
        if omitted:
            first = len(self.labels.names) + 2 * len(self._roles)
            opened = first + self._open_to.setdefault(omitted, len(self._open_to))
            targets = [opened if target == self.number[OUTSIDE] else target for target in targets]
        for span in spans:
            if span.field in WHOLE_PEOPLE and span.role in self._roles:
                for i, word in enumerate(words):
                    if span.start <= word.start < span.end:
                        targets[i] = self._open(word, span.role)
        return targets

    def of_type(self, publication_type: str | None) -> int:
        """The target at the end of the reference; `NOTHING` for an unknown type."""
        return self.number.get(f"{TYPE}{publication_type}", NOTHING)

    def _open(self, word: Token, role: str) -> int:
        """The target of a word in names of `role` that are not split.

        A capitalized word is part of a name; others may stand between two.
        """
        is_name = word.text[0].isalpha() and not word.text[0].islower()
        return len(self.labels.names) + 2 * self._roles.index(role) + is_name


def labels_for(lessons: Iterable[Lesson], min_count: int) -> Labels:
    """The labels of every field, and type, that `lessons` have at least `min_count` times."""
    fields: Counter[str] = Counter()
    types: Counter[str] = Counter()
    for lesson in lessons:
        fields.update(field_of(s) for s in lesson.spans if s.field not in WHOLE_PEOPLE)
        if lesson.publication_type:
            types[lesson.publication_type] += 1
    kept = sorted(name for name, count in fields.items() if count >= min_count)
    of_words = [f"{prefix}-{name}" for name in kept for prefix in "BI"]
    of_whole = sorted(f"{TYPE}{name}" for name, count in types.items() if count >= min_count)
    return Labels((OUTSIDE, *of_words, *of_whole))
