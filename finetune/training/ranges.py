"""The values that an encoder's linear layers are given, which decide how those are rounded to 8 bits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn


class _Range:
    """The least and the greatest value seen so far."""

    def __init__(self) -> None:
        self.low = self.high = 0.0

    def add(self, _layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        """See the input of a layer, as a forward pre-hook."""
        self.low = min(self.low, float(inputs[0].min()))
        self.high = max(self.high, float(inputs[0].max()))


def input_ranges(
    model: Any, batches: Iterable[Mapping[str, Tensor]]
) -> dict[str, tuple[float, float]]:
    """(least, greatest) input of each linear layer of `model.bert` on `batches`, by the layer's name.

    A batch has `input_ids` and `attention_mask`; padding counts as well, since it is rounded, too.
    """
    layers = {
        f"bert.{name}": layer
        for name, layer in model.bert.named_modules()
        if isinstance(layer, nn.Linear)
    }
    ranges = {name: _Range() for name in layers}
    hooks = [layer.register_forward_pre_hook(ranges[name].add) for name, layer in layers.items()]
    try:
        with torch.inference_mode():
            for batch in batches:
                model.bert(batch["input_ids"], attention_mask=batch["attention_mask"].long())
    finally:
        for hook in hooks:
            hook.remove()
    return {name: (one.low, one.high) for name, one in ranges.items()}
