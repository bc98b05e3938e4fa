"""TRL's trainer with the loss of a CPU: the vocabulary's logits of answer tokens alone, in bfloat16.

TRL computes them in float32, twice, and with entropy; that was two fifths of a step for a model of
135M parameters and a vocabulary of 49,152 (docs/log/2026-11.md).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from trl import SFTTrainer

from finetune.cpu import HalfLinear, has_bfloat16
from finetune.training.order import OrderedTrainer


class CpuTrainer(OrderedTrainer, SFTTrainer):  # type: ignore[misc]
    """SFTTrainer whose head multiplies answer positions only, in bfloat16 where the CPU has it."""

    def __init__(self, model: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(model, *args, **kwargs)
        head = model.get_base_model().get_output_embeddings()
        self._head = HalfLinear(head) if has_bfloat16() else head

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Tensor],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Tensor:
        """Cross entropy of the labelled tokens, summed and divided by `num_items_in_batch`."""
        decoder = model.get_base_model().get_decoder()
        hidden = decoder(
            input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"], use_cache=False
        ).last_hidden_state
        targets = inputs["labels"][:, 1:]
        learnt = targets != -100
        logits = self._head(hidden[:, :-1][learnt])
        loss = cross_entropy(logits, targets[learnt], reduction="sum")
        with torch.no_grad():
            accuracy = (logits.argmax(-1) == targets[learnt]).float().mean().item()
        self._metrics["train"]["mean_token_accuracy"].append(accuracy)  # as TRL's own loss does
        count = learnt.sum() if num_items_in_batch is None else num_items_in_batch
        return loss / count
