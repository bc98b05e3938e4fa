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
from reno_dspy.systems.bio import spans_of
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
        self._device = next(model.parameters()).device

    def annotate(self, references: Sequence[str]) -> list[str]:
        """One annotation a reference, in place. Raises ValueError for what XML cannot hold."""
        read = [prepared(reference) for reference in references]
        encoded = [encode(one.text, self._tokenizer, self._options.context) for one in read]
        order = sorted(range(len(encoded)), key=lambda i: -len(encoded[i].ids))
        annotations = [""] * len(references)
        for batch in _batches(order, encoded):
            scores = self._scores([encoded[i] for i in batch])
            for i, one in zip(batch, scores, strict=True):
                annotations[i] = self._render(read[i], encoded[i], one)
        return annotations

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

    def _render(self, read: Prepared, encoded: Encoded, scores: NDArray[np.float32]) -> str:
        words, types = self._labels.words, self._labels.types
        (path,) = best_paths([scores[:-1, : len(words)]])
        labels = [words[label] for label in path]
        kind = type_named(types[int(scores[-1, len(words) :].argmax())] if types else None)
        spans = joined(read.text, spans_of(encoded.words, labels))
        return render(read.reference, read.spans(spans), kind)


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
