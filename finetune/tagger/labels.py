"""What a tagger may say of a word: BIO labels over fields, and publication types of the whole.

A word is a token of `reno_dspy.systems.tokens`. The publication type is read at the end of the
reference, by the same head.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from finetune.training.rows import Lesson
from reno_dspy.jats.spans import Span
from reno_dspy.systems.crf.model import OUTSIDE, field_of, labels_of
from reno_dspy.systems.tokens import Token

TYPE = "type:"
# The target where there is nothing to learn, by transformers' convention.
NOTHING = -100
# A work has one of each.
_ONE_EACH = ("article-title", "chapter-title", "source", "issue")
# What may stand between two parts of one, such as a full stop or a quotation mark; not a bracket.
_BETWEEN = re.compile(r"(?:[^\w(\[]|_){0,4}")
# Annotations that do not split their names have these in place of a name's parts.
WHOLE_PEOPLE = frozenset({"person-group", "string-name"})
_PEOPLE = ("surname", "given-names", "prefix", "suffix", "collab", "etal")


@dataclass(frozen=True)
class Labels:
    """Labels in the order of the head's outputs: O, B- and I- of each field, types of the whole.

    A target is the number of a label, or, from `len(names)` on, of a set of labels of which the right
    one is not known (`sets`).
    """

    names: tuple[str, ...]

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each label."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def words(self) -> int:
        """How many labels are of words; those of the whole follow."""
        return sum(not name.startswith(TYPE) for name in self.names)

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """The person-group-types, each of which has two sets of labels."""
        found = {name.partition(":")[2] for name in self.names[: self.words] if ":" in name}
        return tuple(sorted(found))

    @cached_property
    def sets(self) -> NDArray[np.bool_]:
        """(targets, labels): which labels are right for each target."""
        rows = np.eye(len(self.names), dtype=np.bool_)
        people = np.zeros((2 * len(self.roles), len(self.names)), dtype=np.bool_)
        for i, role in enumerate(self.roles):
            for field in _PEOPLE:
                for label in (f"B-{field}:{role}", f"I-{field}:{role}"):
                    if label in self.number:
                        people[2 * i : 2 * i + 2, self.number[label]] = True
            people[2 * i, self.number[OUTSIDE]] = True
        return np.concatenate([rows, people])

    def _open(self, word: Token, role: str) -> int:
        """The target of a word in names of `role` that are not split.

        A capitalized word is part of a name; others may stand between two.
        """
        is_name = word.text[0].isalpha() and not word.text[0].islower()
        return len(self.names) + 2 * self.roles.index(role) + is_name

    def targets(self, words: Sequence[Token], spans: Sequence[Span]) -> list[int]:
        """The target of each word under `spans`; names that are not split leave their inside open."""
        kept = {name[2:] for name in self.names[1 : self.words]}
        targets = [self.number[label] for label in labels_of(words, spans, kept)]
        for span in spans:
            if span.field in WHOLE_PEOPLE and span.role in self.roles:
                for i, word in enumerate(words):
                    if span.start <= word.start < span.end:
                        targets[i] = self._open(word, span.role)
        return targets

    def target_of_type(self, publication_type: str | None) -> int:
        """The target at the end of the reference; `NOTHING` for an unknown type."""
        return self.number.get(f"{TYPE}{publication_type}", NOTHING)


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


def best_legal(scores: NDArray[np.float32], names: Sequence[str]) -> list[str]:
    """The legal BIO sequence of highest total score (Viterbi); `scores` is (words, labels).

    I- follows B- or I- of its own field and nothing else; `names` are O, then B-, I- by turns.
    """
    if not len(scores):
        return []
    inside = np.arange(2, len(names), 2)
    total = scores[0].copy()
    total[inside] = -np.inf
    back = np.zeros(scores.shape, dtype=np.int64)
    for i in range(1, len(scores)):
        best = int(total.argmax())
        before = np.full(len(names), best)
        begun = total[inside - 1] > total[inside]
        before[inside] = np.where(begun, inside - 1, inside)
        back[i] = before
        total = total[before] + scores[i]
    path = [int(total.argmax())]
    for i in range(len(scores) - 1, 0, -1):
        path.append(int(back[i, path[-1]]))
    return [names[label] for label in reversed(path)]


def joined(reference: str, spans: Sequence[Span]) -> list[Span]:
    """`spans` (in order) of `reference`, with a title or an issue that was broken in two made one again."""
    kept: list[Span] = []
    for span in spans:
        last = kept[-1] if kept else None
        if (
            last
            and last.field == span.field
            and span.field in _ONE_EACH
            and _BETWEEN.fullmatch(reference, last.end, span.start)
        ):
            kept[-1] = replace(last, end=span.end)
        else:
            kept.append(span)
    return kept
