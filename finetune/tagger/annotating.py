"""References -> annotations with a tagger's network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from finetune.recipe import TaggerOptions
from finetune.tagger.encoding import Encoded, encode, pad
from finetune.tagger.model import score
from reno_dspy.jats.elements import type_named
from reno_dspy.jats.spans import render
from reno_dspy.systems.batches import Annotated
from reno_dspy.systems.bio import spans_of
from reno_dspy.systems.confidence import Judge, Labelled
from reno_dspy.systems.repair import Prepared, prepared
from reno_dspy.systems.tagger.labels import Labels, joined
from reno_dspy.systems.tagger.lattice import best_paths

# Tokens of one forward pass, padding included; more would take memory and little less time.
_BATCH_TOKENS = 1_024


class Annotator:
    """A network (bare or wrapped by PEFT) with its tokenizer, labels and options."""

    def __init__(
        self, model: Any, tokenizer: Any, names: Sequence[str], options: TaggerOptions
    ) -> None:
        self._model, self._tokenizer, self._options = model, tokenizer, options
        self._labels = Labels(tuple(names))
        self._judge = Judge(self._labels.words, self._labels.chain)
        self._device = next(model.parameters()).device

    def annotate(self, references: Sequence[str]) -> list[Annotated]:
        """An annotation in place for each reference, with the confidence in it.

        Raises ValueError for what XML cannot hold.
        """
        read = [prepared(reference) for reference in references]
        encoded = [encode(one.text, self._tokenizer, self._options.context) for one in read]
        order = sorted(range(len(encoded)), key=lambda i: -len(encoded[i].ids))
        scores: dict[int, NDArray[np.float32]] = {}
        for batch in _batches(order, encoded):
            scores |= zip(batch, self._scores([encoded[i] for i in batch]), strict=True)
        labelled = self._labelled(read, encoded, [scores[i] for i in range(len(encoded))])
        return [
            Annotated(render(one.read.reference, one.spans, self._type(scores[i])), confidence)
            for i, (one, confidence) in enumerate(
                zip(labelled, self._judge.judge(labelled), strict=True)
            )
        ]

    def _scores(self, batch: Sequence[Encoded]) -> list[NDArray[np.float32]]:
        """Log-probabilities (words + 1, labels) of each; the last row is of the whole."""
        ids = pad([one.ids for one in batch], 0)
        present = pad([[1] * len(one.ids) for one in batch], 0).bool()
        read = torch.zeros_like(present)
        for row, one in enumerate(batch):
            read[row, [*one.places, len(one.ids) - 1]] = True
        device = self._device
        with torch.inference_mode():
            logits = score(
                self._model, ids.to(device), present.to(device), read.to(device), self._options
            )
        all_scores: NDArray[np.float32] = logits.float().log_softmax(-1).cpu().numpy()
        return np.split(all_scores, np.cumsum([len(one.places) + 1 for one in batch])[:-1])

    def _labelled(
        self,
        read: Sequence[Prepared],
        encoded: Sequence[Encoded],
        scores: Sequence[NDArray[np.float32]],
    ) -> list[Labelled]:
        """The most likely labels of each reference, and the values that they mark."""
        names = self._labels.words
        words = [one[:-1, : len(names)] for one in scores]
        paths = best_paths(words)
        labels = [[names[label] for label in path] for path in paths]
        spans = [
            shown.spans(joined(shown.text, spans_of(one.words, chosen)))
            for shown, one, chosen in zip(read, encoded, labels, strict=True)
        ]
        return list(map(Labelled, read, [one.words for one in encoded], words, paths, spans))

    def _type(self, scores: NDArray[np.float32]) -> str | None:
        """The publication type that scores best."""
        types = self._labels.types
        whole = scores[-1, len(self._labels.words) :]
        return type_named(types[int(whole.argmax())] if types else None)


def _batches(order: Sequence[int], encoded: Sequence[Encoded]) -> list[list[int]]:
    """`order` (longest first) cut so that no batch has more than `_BATCH_TOKENS`, padding included."""
    batches: list[list[int]] = []
    for i in order:
        longest = len(encoded[batches[-1][0]].ids) if batches else 0
        if batches and (len(batches[-1]) + 1) * longest <= _BATCH_TOKENS:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches
