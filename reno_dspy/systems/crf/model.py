"""The classical baseline: a linear-chain CRF over plain token features (python-crfsuite).

It labels each token with a JATS field and writes the tags in place, so that its annotation is always
well-formed and keeps the reference's text.

    reno evaluate --system crf --data DATA
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Self

import pycrfsuite

from reno_dspy.base.errors import InputError
from reno_dspy.base.files import digest
from reno_dspy.jats.spans import Span, render
from reno_dspy.systems import Completion
from reno_dspy.systems.bio import spans_of
from reno_dspy.systems.crf.features import features
from reno_dspy.systems.tokens import tokenize

if TYPE_CHECKING:
    from reno_dspy.systems.options import SystemOptions
from reno_dspy.systems.repair import prepared

# The model that ships, trained by benchmarks/crf.py on rows with an open licence only.
SHIPPED = Path(__file__).with_name("crf.crfsuite")


class Crf:
    """A CRF model as a system; the one that ships by default."""

    name = "crf"
    batch_size = 64
    concurrency = 1

    def __init__(self, model: Path = SHIPPED) -> None:
        """Load `model`. Raises InputError when it is missing or not a crfsuite model."""
        self._model = _read(model)
        self._tagger = _open(self._model, model)

    @classmethod
    def from_options(cls, options: SystemOptions, _log: Path) -> Self:
        """The model that `options.system` names: `crf`, or a file."""
        return cls(SHIPPED if options.system == cls.name else Path(options.system))

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
        return await asyncio.to_thread(lambda: [self.complete(one) for one in references])

    def annotate_one(self, reference: str) -> str:
        """The annotation of one reference. Raises ValueError for characters that XML cannot hold."""
        return render(reference, self.spans(reference))

    def spans(self, reference: str) -> list[Span]:
        """The most likely fields of `reference`, disjoint and in order."""
        read = prepared(reference)
        tokens = tokenize(read.text)
        labels = self._tagger.tag(features(tokens)) if tokens else []
        return read.spans(spans_of(tokens, labels))

    def complete(self, reference: str) -> Completion:
        """The annotation of one reference as a completion; never raises."""
        start = perf_counter()
        try:
            text, error = self.annotate_one(reference), None
        except ValueError as problem:
            text, error = "", str(problem)
        return Completion(text, error=error, latency_s=perf_counter() - start)


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
