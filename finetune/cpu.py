"""What makes a language model fast on a CPU; used for serving and for training.

Matrix products take their weights and inputs as bfloat16 and give float32; everything else (norms,
rotary positions, attention, the residual stream) stays float32. On a CPU with bfloat16 instructions
that is more than twice as fast as float32, whereas a model that is bfloat16 throughout is slower than
float32 there (its attention kernel is). Figures: docs/log/2026-11.md.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class HalfLinear(nn.Module):
    """A frozen linear layer whose product is computed in bfloat16; float32 in, float32 out."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight = nn.Buffer(linear.weight.detach().to(torch.bfloat16), persistent=False)
        bias = linear.bias
        self.bias: Tensor | None = (
            None if bias is None else nn.Buffer(bias.detach().float(), persistent=False)
        )

    def forward(self, x: Tensor) -> Tensor:
        """`x` (..., in_features) float32 -> (..., out_features) float32."""
        product = nn.functional.linear(x.to(torch.bfloat16), self.weight).float()
        return product if self.bias is None else product + self.bias


class _HalfProduct(torch.autograd.Function):
    """`x` times `weight` transposed, forward and backward in bfloat16; float32 in and out."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        half_x, half_weight = x.to(torch.bfloat16), weight.to(torch.bfloat16)
        ctx.save_for_backward(half_x, half_weight)
        return nn.functional.linear(half_x, half_weight).float() + bias

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        half_x, half_weight = ctx.saved_tensors
        flat = gradient.reshape(-1, gradient.shape[-1])
        half = flat.to(torch.bfloat16)
        of_weight = (half.t() @ half_x.reshape(-1, half_x.shape[-1])).float()
        of_x = (half @ half_weight).float().reshape(half_x.shape)
        return of_x, of_weight, flat.sum(0)


class TrainedHalfLinear(nn.Linear):
    """A linear layer that is trained: float32 weights, products in bfloat16."""

    def forward(self, x: Tensor) -> Tensor:
        """`x` (..., in_features) float32 -> (..., out_features) float32."""
        product: Tensor = _HalfProduct.apply(x, self.weight, self.bias)  # type: ignore[no-untyped-call]
        return product


def halve_trained_linears(module: nn.Module) -> None:
    """Let every linear layer inside `module` that has a bias compute in bfloat16 while it is trained."""
    for layer in module.modules():
        if type(layer) is nn.Linear and layer.bias is not None:
            layer.__class__ = TrainedHalfLinear


def has_bfloat16() -> bool:
    """Whether this CPU multiplies bfloat16 matrices in hardware."""
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def halve_linears(module: nn.Module, keep: frozenset[str] = frozenset()) -> None:
    """Replace the frozen linear layers inside `module` by a `HalfLinear`, but those named in `keep`.

    Layers whose weights are trained (a LoRA's own) stay as they are.
    """
    for name, child in module.named_children():
        if name in keep:
            continue
        if type(child) is nn.Linear:
            if not child.weight.requires_grad:
                setattr(module, name, HalfLinear(child))
        else:
            halve_linears(child, keep)
