"""Draw some of many items by a seed; the one way in which jobs take a part of their data."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def draw(items: Sequence[T], count: int | None, seed: int) -> Sequence[T]:
    """`count` of `items` at random by `seed`, in their order; all of them when there are no more.

    None takes all.
    """
    if count is None or count >= len(items):
        return items
    return [items[i] for i in sorted(random.Random(seed).sample(range(len(items)), count))]
