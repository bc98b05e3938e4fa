"""From an encoder's scores to annotations.

The encoder runs in onnxruntime or, while it is trained, in PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from reno_dspy.jats.elements import type_named
from reno_dspy.jats.spans import Span, render
from reno_dspy.systems.batches import Annotated
from reno_dspy.systems.bio import spans_of
from reno_dspy.systems.confidence import Judge, Labelled
from reno_dspy.systems.repair import Prepared, prepared
from reno_dspy.systems.tagger.encoding import Encoded, Pieces, Window, encode, padded
from reno_dspy.systems.tagger.labels import Labels, joined
from reno_dspy.systems.tagger.lattice import best_paths

# Pieces of one pass, padding included. More would need memory and hardly less time.
_PASS = 1_024


class Network(Protocol):
    """Scores of an encoder with its head."""

    def __call__(
        self, ids: NDArray[np.int64], mask: NDArray[np.int32], read: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Logits (n, labels) at the places `read` (n,) of the flattened `ids` (rows, length).

        `mask`, of the same shape as `ids`, is 1 at pieces and 0 at padding.
        """
        ...


class Labeller:
    """A network with its vocabulary and labels; it reads at most `longest` pieces at once.

    The network is called by `workers` threads at the same time.
    """

    def __init__(
        self, network: Network, pieces: Pieces, labels: Labels, longest: int, workers: int = 1
    ) -> None:
        self._network, self._pieces, self._longest = network, pieces, longest
        self._workers = ThreadPoolExecutor(workers, "tagger")
        self._names, self._labels, self._types = labels.names, labels.words, labels.types
        self._judge = Judge(labels.words, labels.chain)

    def annotate(self, references: Sequence[str]) -> list[Annotated]:
        """An annotation in place for each reference, with the confidence in it.

        Raises ValueError for what XML cannot hold.
        """
        read = [prepared(reference) for reference in references]
        encoded = [encode(one.text, self._pieces, self._longest) for one in read]
        words, wholes = self._scores(encoded)
        logits = [one[:, : len(self._labels)] for one in words]
        paths = best_paths(logits)
        spans = [
            self._spans(shown, one, path)
            for shown, one, path in zip(read, encoded, paths, strict=True)
        ]
        tokens = [one.words for one in encoded]
        confidences = self._judge.judge(
            list(map(Labelled, read, tokens, logits, paths, spans)),
        )
        return [
            Annotated(render(shown.reference, found, self._type(whole)), confidence)
            for shown, found, whole, confidence in zip(
                read, spans, wholes, confidences, strict=True
            )
        ]

    def _scores(
        self, encoded: Sequence[Encoded]
    ) -> tuple[list[NDArray[np.float32]], list[NDArray[np.float32]]]:
        """Logits of each reference's words (words, labels), and of each whole (labels,)."""
        windows = [(i, window) for i, one in enumerate(encoded) for window in one.windows]
        order = sorted(range(len(windows)), key=lambda at: -len(windows[at][1].ids))
        count = len(self._names)
        words = [np.zeros((len(one.words), count), dtype=np.float32) for one in encoded]
        wholes = [np.zeros(count, dtype=np.float32) for _ in encoded]
        passes = [
            [windows[at] for at in batch]
            for batch in _passes(order, [len(window.ids) for _, window in windows])
        ]
        found = self._workers.map(self._pass, [[window for _, window in one] for one in passes])
        for batch, scores in zip(passes, found, strict=True):
            for (i, window), one in zip(batch, scores, strict=True):
                words[i][window.first : window.first + len(window.places)] = one[1:]
                if not window.first:
                    wholes[i] = one[0]
        return words, wholes

    def _pass(self, windows: Sequence[Window]) -> list[NDArray[np.float32]]:
        """Logits (1 + words, labels) of each window; the first row is of the begin mark."""
        ids, mask = padded(windows, self._pieces.padding)
        places = [
            np.array([0, *window.places]) + row * ids.shape[1] for row, window in enumerate(windows)
        ]
        logits = self._network(ids, mask, np.concatenate(places))
        return np.split(logits, np.cumsum([len(one) for one in places])[:-1])

    def _spans(self, read: Prepared, encoded: Encoded, path: NDArray[np.int64]) -> list[Span]:
        """The values that the labels of `path` mark, in the reference."""
        spans = spans_of(encoded.words, [self._labels[label] for label in path])
        return read.spans(joined(read.text, spans))

    def _type(self, whole: NDArray[np.float32]) -> str | None:
        """The publication type that scores best."""
        types = whole[len(self._labels) :]
        return type_named(self._types[int(types.argmax())] if self._types else None)


def _passes(order: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """`order` (longest first) in runs of at most `_PASS` pieces, padding included."""
    run: list[int] = []
    for at in order:
        if run and (len(run) + 1) * lengths[run[0]] > _PASS:
            yield run
            run = []
        run.append(at)
    if run:
        yield run
