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
from typing import TYPE_CHECKING, Self

from reno_dspy.base.errors import InputError
from reno_dspy.base.files import digest
from reno_dspy.jats.spans import render
from reno_dspy.systems import Completion
from reno_dspy.systems.batches import Annotated, complete_batch
from reno_dspy.systems.bio import spans_of
from reno_dspy.systems.calibration import (
    calibrated,
    calibration_file,
    identity_of,
    load_calibration,
)
from reno_dspy.systems.confidence import Judge, Labelled
from reno_dspy.systems.crf.features import features
from reno_dspy.systems.crf.weights import Weights, read_weights
from reno_dspy.systems.repair import prepared
from reno_dspy.systems.tokens import tokenize

if TYPE_CHECKING:
    from reno_dspy.systems.options import SystemOptions

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
        self._weights = _weights(self._model, model)
        self._judge = Judge(self._weights.labels, self._weights.chain)
        self.calibration_file = calibration_file(model)
        self.calibration = load_calibration(self.calibration_file, self.model_digest)

    @classmethod
    def from_options(cls, options: SystemOptions, _log: Path) -> Self:
        """The model that `options.system` names: `crf`, or a file."""
        return cls(SHIPPED if options.system == cls.name else Path(options.system))

    @cached_property
    def model_digest(self) -> str:
        """Sixteen hexadecimal digits of the model file's SHA-256."""
        return digest(self._model)

    def identity(self) -> Mapping[str, str]:
        """The model and its calibration, by digest."""
        known = identity_of(self.calibration)
        return {"model": "crf", "model_digest": self.model_digest, **known}

    async def start(self) -> None:
        """Nothing is left to load."""

    async def annotate(self, references: Sequence[str]) -> list[Completion]:
        """Annotate references; one that XML cannot hold is an error row."""
        return await asyncio.to_thread(complete_batch, self.annotate_all, references)

    def annotate_one(self, reference: str) -> str:
        """The annotation of one reference. Raises ValueError for characters that XML cannot hold."""
        return self.annotate_all([reference])[0].xml

    def annotate_all(self, references: Sequence[str]) -> list[Annotated]:
        """An annotation of each reference, with the confidence in it. Raises ValueError as above."""
        labelled = self._labelled(references)
        found = [
            Annotated(render(one.read.reference, one.spans), confidence)
            for one, confidence in zip(labelled, self._judge.judge(labelled), strict=True)
        ]
        return calibrated(self.calibration, found)

    def _labelled(self, references: Sequence[str]) -> list[Labelled]:
        """The most likely labels of `references`, and the values that they mark."""
        read = [prepared(reference) for reference in references]
        words = [tokenize(one.text) for one in read]
        scores = [self._weights.scores(features(one)) for one in words]
        paths = self._weights.chain.best_paths(scores)
        names = self._weights.labels
        spans = [
            one.spans(spans_of(tokens, [names[label] for label in path]))
            for one, tokens, path in zip(read, words, paths, strict=True)
        ]
        return list(map(Labelled, read, words, scores, paths, spans))


def _read(model: Path) -> bytes:
    try:
        return model.read_bytes()
    except OSError as error:
        raise InputError(
            f"Cannot read the CRF model {model} ({error.strerror}). Train one with `reno train-crf`."
        ) from error


def _weights(data: bytes, model: Path) -> Weights:
    try:
        return read_weights(data)
    except ValueError as error:
        raise InputError(f"{model} is not a crfsuite model: {error}.") from error
