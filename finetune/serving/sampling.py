"""The choice of the next token."""

from __future__ import annotations

import torch
from torch import Tensor


def choose(logits: Tensor, temperature: float, top_p: float, random: torch.Generator | None) -> int:
    """The token that follows `logits` (vocabulary,): the likeliest, or one drawn with `random`.

    A draw is at `temperature`, among the likeliest tokens that together reach the probability `top_p`.
    """
    if random is None:
        return int(logits.argmax())
    ordered, tokens = (logits / temperature).softmax(-1).sort(descending=True)
    kept = ordered.cumsum(-1) - ordered < top_p
    drawn = torch.multinomial(ordered * kept, 1, generator=random)
    return int(tokens[drawn])
