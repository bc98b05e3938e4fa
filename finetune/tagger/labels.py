"""The labels that a tagger gives: BIO labels to words, publication types to the whole reference.

A word is a token of `reno_dspy.systems.tokens`. The publication type is read at the end of the
reference, by the same head.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reno_dspy.jats.spans import Span

TYPE = "type:"
# A work has one of each.
_ONE_EACH = ("article-title", "chapter-title", "source", "issue")
# What may stand between two parts of one, such as a full stop or a quotation mark; not a bracket.
_BETWEEN = re.compile(r"(?:[^\w(\[]|_){0,4}")


@dataclass(frozen=True)
class Labels:
    """`names`, in the order of the head's outputs: O, B- and I- of each field, types of the whole."""

    names: tuple[str, ...]

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The labels of words, which come first."""
        return tuple(name for name in self.names if not name.startswith(TYPE))

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The publication types of a whole reference."""
        return tuple(name.removeprefix(TYPE) for name in self.names[len(self.words) :])


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
