"""What makes a language model fast on a CPU; used for serving and for training.

Matrix products take their weights and inputs as bfloat16 and give float32; everything else (norms,
rotary positions, attention, the residual stream) stays float32. On a CPU with bfloat16 instructions
that is more than twice as fast as float32, whereas a model that is bfloat16 throughout is slower than
float32 there (its attention kernel is). Figures: docs/log/2026-11.md.
"""

from __future__ import annotations

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
