"""The order in which a training sees its rows: rows of like length together, another order each epoch.

transformers' own sampler draws from the global random state when an epoch begins, so that a run that
resumes in its second epoch sees another order. This one depends on seed and epoch alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import Sampler
from transformers import Trainer
from transformers.trainer_pt_utils import get_length_grouped_indices


class LengthOrder(Sampler[int]):
    """Indices of rows; `step_size` neighbours are of like length."""

    def __init__(self, lengths: list[int], step_size: int, seed: int) -> None:
        self._lengths, self._step_size, self._seed, self._epoch = lengths, step_size, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose order comes next; the dataloader calls this."""
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._lengths)

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed((self._seed << 16) + self._epoch)
        order: list[int] = get_length_grouped_indices(
            self._lengths, self._step_size, generator=generator
        )
        return iter(order)


class OrderedTrainer(Trainer):  # type: ignore[misc]
    """A transformers Trainer that sees its rows in `LengthOrder`."""

    def _get_train_sampler(self, train_dataset: Any = None) -> LengthOrder:
        rows = self.train_dataset if train_dataset is None else train_dataset
        step_size = self.args.train_batch_size * self.args.gradient_accumulation_steps
        lengths = [len(row["input_ids"]) for row in rows]
        return LengthOrder(lengths, step_size, self.args.seed)
