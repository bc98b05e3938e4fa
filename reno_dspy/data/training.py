"""Rows to train or optimize on, and rows to choose by: of any data, no article in both."""

from __future__ import annotations

from dataclasses import replace

from reno_dspy.base.errors import InputError
from reno_dspy.data.dataset import Dataset, load, splits_of
from reno_dspy.data.split import first_of_each, split_articles

_SHARES = {"train": 0.9, "dev": 0.1}


def train_and_dev(data: str, seed: int, *, strict: bool = False) -> tuple[Dataset, Dataset]:
    """The splits train and dev of `data`; where it has no dev, its rows split 9 to 1 by `seed`.

    Rows are split by citing article, and of references with the same normalized text the first is kept,
    so that nothing in dev stands in train. Dev is empty where there is one article only. `test` is not
    opened. `strict` is that of `load`. Raises InputError as `load` does, and for data that has splits but
    no train.
    """
    present = splits_of(data)
    if present and "train" not in present:
        raise InputError(f"{data} has no split `train`, only {', '.join(present)}.")
    train = load(data, "train" if present else None, strict=strict)
    if "dev" in present:
        return train, load(data, "dev", strict=strict)
    return _split(train, seed)


def _split(whole: Dataset, seed: int) -> tuple[Dataset, Dataset]:
    firsts = first_of_each(row.plaintext or row.xml for row in whole.rows)
    rows = [row for row, first in zip(whole.rows, firsts, strict=True) if first]
    # A row whose article is not known stands for itself.
    articles = [row.cluster or f"row {number}" for number, row in enumerate(rows)]
    sides = split_articles(articles, _SHARES, seed)
    train, dev = (
        tuple(row for row, article in zip(rows, articles, strict=True) if sides[article] == side)
        for side in _SHARES
    )
    return replace(whole, rows=train, split="train"), replace(whole, rows=dev, split="dev")
