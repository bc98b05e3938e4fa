"""The labels that a tagger gives: BIO labels to words, publication types to the whole reference.

A word is a token of `reno_dspy.systems.tokens`. The publication type is read by the same head, at
the mark that stands for the whole reference.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from reno_dspy.jats.spans import Span
from reno_dspy.systems.bio import OUTSIDE
from reno_dspy.systems.lattice import Chain

TYPE = "type:"
# A work has one of each.
_ONE_EACH = ("article-title", "chapter-title", "source", "issue")
# What may stand between two parts of one, such as a full stop or a quotation mark; not a bracket.
_BETWEEN = re.compile(r"(?:[^\w(\[]|_){0,4}")


@dataclass(frozen=True)
class Labels:
    """`names` in the order of the head's outputs: O, B- and I- of each field by turns, types."""

    names: tuple[str, ...]

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The labels of words, which come first."""
        return tuple(name for name in self.names if not name.startswith(TYPE))

    @cached_property
    def chain(self) -> Chain:
        """Which label may follow which: I- follows B- or I- of its own field and nothing else."""
        inside = np.array([name.startswith("I-") for name in self.words])
        fields = np.array([name[2:] for name in self.words])
        follows = (fields[:, None] == fields) & (np.array(self.words) != OUTSIDE)[:, None]
        start = np.where(inside, -np.inf, 0.0)
        return Chain(start, np.where(inside & ~follows, -np.inf, 0.0))

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The publication types of a whole reference."""
        return tuple(name.removeprefix(TYPE) for name in self.names[len(self.words) :])


def joined(reference: str, spans: Sequence[Span]) -> list[Span]:
    """`spans` (in order) of `reference`; a title or issue that was broken in two is made one."""
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
