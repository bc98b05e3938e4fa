"""A reference as a tagger's input: token ids, and the positions at which labels are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from reno_dspy.systems.tokens import Token, tokenize

# How a word sees what follows it: not at all; in a second copy of the reference, whose words have all
# of the first before them; or directly, without the causal mask.
Context = Literal["once", "twice", "both_ways"]


@dataclass(frozen=True)
class Encoded:
    """`ids` of the input; `places[i]` is where word i is read, the last id where the whole is."""

    words: tuple[Token, ...]
    ids: tuple[int, ...]
    places: tuple[int, ...]


def encode(reference: str, tokenizer: Any, context: Context) -> Encoded:
    """Encode `reference` word by word, so that no token belongs to two words."""
    words = tokenize(reference)
    texts = [" " * word.spaced + word.text for word in words]
    pieces = tokenizer(texts, add_special_tokens=False)["input_ids"] if texts else []
    ids: list[int] = []
    places: list[int] = []
    for _ in range(2 if context == "twice" else 1):
        places.clear()
        for piece in pieces:
            ids += piece
            places.append(len(ids) - 1)
        ids.append(tokenizer.eos_token_id)
    return Encoded(tuple(words), tuple(ids), tuple(places))


def pad(rows: Sequence[Sequence[int]], value: int) -> Tensor:
    """(rows, longest) of `rows`, filled up with `value` on the right."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[value] * (longest - len(row))] for row in rows])


def attention(present: Tensor, context: Context) -> Tensor:
    """The attention mask for tokens that are `present` (rows, length; bool).

    Two dimensions leave the model causal; four say which token sees which.
    """
    if context != "both_ways":
        return present.long()
    rows, length = present.shape
    return present[:, None, None, :].expand(rows, 1, length, length)
