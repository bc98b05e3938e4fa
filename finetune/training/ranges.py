"""The values that an encoder's linear layers are given, which decide how those are rounded to 8 bits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn


class _Range:
    """The least and the greatest value of each input of `layer` so far, and zero."""

    def __init__(self, layer: nn.Linear) -> None:
        self.low = torch.zeros(layer.in_features)
        self.high = torch.zeros(layer.in_features)

    def add(self, _layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        """See the inputs of the layer, as a forward pre-hook."""
        seen = inputs[0].float().cpu().flatten(0, -2)
        self.low = torch.minimum(self.low, seen.amin(0))
        self.high = torch.maximum(self.high, seen.amax(0))


def input_ranges(
    model: Any, batches: Iterable[Mapping[str, Tensor]]
) -> dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """The least and the greatest value of each input (inputs,) of the linear layers of `model.bert`.

    They are those on `batches`, by the layer's name. A batch has `input_ids` and `attention_mask`;
    padding counts as well, since it is rounded, too.
    """
    layers = {
        f"bert.{name}": layer
        for name, layer in model.bert.named_modules()
        if isinstance(layer, nn.Linear)
    }
    ranges = {name: _Range(layer) for name, layer in layers.items()}
    hooks = [layer.register_forward_pre_hook(ranges[name].add) for name, layer in layers.items()]
    try:
        with torch.inference_mode():
            for batch in batches:
                model.bert(batch["input_ids"], attention_mask=batch["attention_mask"].long())
    finally:
        for hook in hooks:
            hook.remove()
    return {name: (one.low.numpy(), one.high.numpy()) for name, one in ranges.items()}
