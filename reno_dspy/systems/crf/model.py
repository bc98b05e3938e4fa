"""The classical baseline: a linear-chain CRF over plain token features (python-crfsuite).

It labels each token with a JATS field and writes the tags in place, so that what it says is always
well-formed and keeps the reference's text.

    reno evaluate --system crf --data DATA
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path
from time import perf_counter

import pycrfsuite

from reno_dspy.base.errors import InputError
from reno_dspy.base.files import digest
from reno_dspy.jats.spans import Span, render
from reno_dspy.systems import Completion
from reno_dspy.systems.crf.features import features
from reno_dspy.systems.tokens import Token, tokenize

# The model that ships, trained by benchmarks/crf.py on rows with an open licence only.
SHIPPED = Path(__file__).with_name("crf.crfsuite")
OUTSIDE = "O"


class Crf:
    """A CRF model as a system; the one that ships by default."""

    name = "crf"
    batch_size = 64
    concurrency = 1

    def __init__(self, model: Path = SHIPPED) -> None:
        """Load `model`. Raises InputError when it is missing or not a crfsuite model."""
        self._model = _read(model)
        self._tagger = _open(self._model, model)

    @cached_property
    def digest(self) -> str:
        """Sixteen hexadecimal digits of the model file's SHA-256."""
        return digest(self._model)

    def identity(self) -> Mapping[str, str]:
        """The model, by digest."""
        return {"model": "crf", "model_digest": self.digest}

    async def start(self) -> None:
        """Nothing is left to load."""

    async def annotate(self, references: Sequence[str]) -> list[Completion]:
        """Annotate references; one that XML cannot hold is an error row."""
        return await asyncio.to_thread(self._annotate_all, references)

    def annotate_one(self, reference: str) -> str:
        """The annotation of one reference. Raises ValueError for characters that XML cannot hold."""
        return render(reference, self.spans(reference))

    def spans(self, reference: str) -> list[Span]:
        """The most likely fields of `reference`, disjoint and in order."""
        tokens = tokenize(reference)
        labels = self._tagger.tag(features(tokens)) if tokens else []
        return spans_of(tokens, labels)

    def _annotate_all(self, references: Sequence[str]) -> list[Completion]:
        return [self.complete(reference) for reference in references]

    def complete(self, reference: str) -> Completion:
        """The annotation of one reference as a completion; never raises."""
        start = perf_counter()
        try:
            text, error = self.annotate_one(reference), None
        except ValueError as problem:
            text, error = "", str(problem)
        return Completion(text, error=error, latency_s=perf_counter() - start)


def labels_of(tokens: Sequence[Token], spans: Sequence[Span], kept: set[str]) -> list[str]:
    """The label of each token under `spans`: O, or B-/I- and the field where `kept` has it."""
    labels = [OUTSIDE] * len(tokens)
    position = 0
    for span in sorted(spans):
        while position < len(tokens) and tokens[position].start < span.start:
            position += 1
        first = position
        while position < len(tokens) and tokens[position].start < span.end:
            if field_of(span) in kept:
                labels[position] = f"{'B' if position == first else 'I'}-{field_of(span)}"
            position += 1
    return labels


def spans_of(tokens: Sequence[Token], labels: Sequence[str]) -> list[Span]:
    """The spans that `labels` say; an I- without its B- begins a span of its own."""
    numbered: list[tuple[int, str]] = []
    number, last = 0, OUTSIDE
    for label in labels:
        number += label[:2] == "B-" or label[2:] != last[2:]
        numbered.append((number, label))
        last = label
    spans = []
    pairs = zip(numbered, tokens, strict=True)
    for _, group in groupby(pairs, key=lambda pair: pair[0][0]):
        inside = list(group)
        label = inside[0][0][1]
        if label != OUTSIDE:
            field, _, role = label[2:].partition(":")
            spans.append(Span(inside[0][1].start, inside[-1][1].end, field, role or None))
    return spans


def field_of(span: Span) -> str:
    """The field as labels name it: names of authors and editors apart."""
    return f"{span.field}:{span.role}" if span.role else span.field


def _read(model: Path) -> bytes:
    try:
        return model.read_bytes()
    except OSError as error:
        raise InputError(
            f"Cannot read the CRF model {model} ({error.strerror}). Train one with `reno train-crf`."
        ) from error


def _open(data: bytes, model: Path) -> pycrfsuite.Tagger:
    tagger = pycrfsuite.Tagger()
    try:
        tagger.open_inmemory(data)
    except ValueError as error:
        raise InputError(f"{model} is not a crfsuite model: {error}.") from error
    return tagger
