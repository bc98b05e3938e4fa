"""How sure a model that labels words is of the values that it has marked, and of the whole reference.

A value rests on the labels of its words. Its probability is that of all the labellings that give its words
the labels that were chosen, and in which it ends where it ended: the next word does not go on with it.
The probability of the whole is that of all the labellings that agree on the scored fields: every word of
theirs has the label that was chosen, and no other word has a label of theirs.

Rules mend values after the model (`repair`), and three things follow. Punctuation at the edge of a value is
the rules' business, so its labels are free. A value that a rule has joined, cut or moved to another field
rests on the labels of the words that it has now. An identifier or address is found by its form: it has no
probability, and the labels of its words are free.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reno_dspy.jats.elements import SCORED
from reno_dspy.jats.spans import Span
from reno_dspy.systems import Confidence, ValueConfidence
from reno_dspy.systems.bio import OUTSIDE
from reno_dspy.systems.lattice import Chain, Ints
from reno_dspy.systems.marginals import Marginals, Stretch
from reno_dspy.systems.repair import Prepared
from reno_dspy.systems.tokens import Token

# What rules find by its form, whatever the model made of it.
BY_FORM = frozenset({"pub-id", "uri"})
# Words of one table, padding included: one very long reference must not make a table of all the others.
_TABLE = 8_192


@dataclass(frozen=True)
class Labelled:
    """A reference as it was labelled.

    `words` are of `read.text`, `scores` (words, labels) the model's, `path` (words,) the labels chosen,
    `spans` the values that rules made of them, in `read.reference`.
    """

    read: Prepared
    words: Sequence[Token]
    scores: NDArray[np.floating]
    path: Ints
    spans: Sequence[Span]


@dataclass(frozen=True)
class Judge:
    """Gives probabilities to values that a model with these `labels` and this `chain` has marked."""

    labels: tuple[str, ...]
    chain: Chain

    @cached_property
    def _scored(self) -> NDArray[np.bool_]:
        """(labels,) whether each is of a scored field."""
        fields = [label[2:].partition(":")[0] for label in self.labels]
        return np.array([field in SCORED for field in fields])

    @cached_property
    def _inside(self) -> list[int | None]:
        """The number of each label's I-, with which a value goes on; None where it cannot."""
        at = {label: number for number, label in enumerate(self.labels)}
        return [None if one == OUTSIDE else at.get(f"I-{one[2:]}") for one in self.labels]

    def judge(self, batch: Sequence[Labelled]) -> list[Confidence]:
        """The confidence in each reference of `batch` and in its values."""
        found: dict[int, Confidence] = {}
        for run in _runs([len(one.words) for one in batch]):
            found |= zip(run, self._judge([batch[i] for i in run]), strict=True)
        return [found[i] for i in range(len(batch))]

    def _judge(self, batch: Sequence[Labelled]) -> list[Confidence]:
        ranges = [_words_of(one) for one in batch]
        free = [_free(one, words) for one, words in zip(batch, ranges, strict=True)]
        sums = Marginals.of(
            self.chain,
            [one.scores for one in batch],
            [one.path for one in batch],
            [self._allowed(one.path, loose) for one, loose in zip(batch, free, strict=True)],
        )
        places = [
            (number, at)
            for number, one in enumerate(batch)
            for at, span in enumerate(one.spans)
            if ranges[number][at] and span.field not in BY_FORM
        ]
        stretches = [self._stretch(n, batch[n], ranges[n][at]) for n, at in places]
        found = dict(zip(places, sums.of_stretches(stretches), strict=True))
        return [
            Confidence(
                whole,
                tuple(
                    ValueConfidence(span.field, value_of(one, span), found.get((number, at)))
                    for at, span in enumerate(one.spans)
                ),
            )
            for number, (one, whole) in enumerate(zip(batch, sums.whole(), strict=True))
        ]

    def _allowed(self, path: Ints, free: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(words, labels) what agrees with `path` on the scored fields."""
        chosen = np.arange(len(self.labels)) == path[:, None]
        agreeing = np.where(self._scored[path][:, None], chosen, ~self._scored)
        agreeing[free] = True
        return agreeing

    def _stretch(self, number: int, one: Labelled, words: range) -> Stretch:
        """The labels on which a value of reference `number` rests."""
        first, last = words.start, words.stop - 1
        inside = self._inside[one.path[last]]
        until = next((i for i in range(words.stop, len(one.words)) if _is_word(one.words[i])), None)
        # A rule has ended it before the model did: then that end is not the model's.
        if inside is None or until is None or all(one.path[last + 1 : until + 1] == inside):
            return Stretch(number, first, last)
        return Stretch(number, first, last, until, inside)


def _runs(lengths: Sequence[int]) -> Iterator[list[int]]:
    """All references by number, the longest first, in runs of at most `_TABLE` words, padding included."""
    run: list[int] = []
    for at in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if run and (len(run) + 1) * lengths[run[0]] > _TABLE:
            yield run
            run = []
        run.append(at)
    if run:
        yield run


def value_of(one: Labelled, span: Span) -> str:
    """The text of a value."""
    return one.read.reference[span.start : span.end]


def _words_of(one: Labelled) -> list[range]:
    """The words of each span, by number; none for what stands before the text, or inside of a word."""
    starts = [one.read.starts[word.start] for word in one.words]
    return [
        range(bisect_left(starts, span.start), bisect_left(starts, span.end)) for span in one.spans
    ]


def _free(one: Labelled, ranges: Sequence[range]) -> NDArray[np.bool_]:
    """(words,) those whose labels decide nothing."""
    free = np.array([not _is_word(word) for word in one.words], dtype=np.bool_)
    for span, words in zip(one.spans, ranges, strict=True):
        if span.field in BY_FORM:
            free[words.start : words.stop] = True
    return free


def _is_word(word: Token) -> bool:
    return word.text[0].isalnum()
