"""The rows that a fine-tuning run trains and is measured on, split by citing article."""

from __future__ import annotations

from dataclasses import dataclass, replace

from finetune.recipe import FinetuneConfig
from reno_dspy.base.errors import InputError
from reno_dspy.data.dataset import Dataset, load, splits_of
from reno_dspy.data.draw import draw
from reno_dspy.data.split import first_of_each, split_articles


@dataclass(frozen=True)
class TrainingData:
    """`train` and the sample of `dev` on which the model is measured; no article is in both."""

    train: Dataset
    dev: Dataset


def load_data(config: FinetuneConfig) -> TrainingData:
    """The data of `config`: a directory's own train and dev, or one file, split 9 to 1.

    Raises InputError when there is nothing to train on.
    """
    present = splits_of(config.data)
    if not present:
        train, dev = _split(load(config.data), config.seed)
    elif "train" in present:
        train = load(config.data, "train")
        dev = load(config.data, "dev") if "dev" in present else replace(train, rows=(), split="dev")
    else:
        raise InputError(f"{config.data} has no split `train`, only {', '.join(present)}.")
    train = replace(train, rows=tuple(draw(train.rows, config.limit, config.seed)))
    measurable = tuple(row for row in dev.rows if row.plaintext and row.plaintext.strip())
    return TrainingData(
        train, replace(dev, rows=tuple(draw(measurable, config.dev.rows, config.seed)))
    )


def _split(whole: Dataset, seed: int) -> tuple[Dataset, Dataset]:
    firsts = first_of_each(row.plaintext or row.xml for row in whole.rows)
    rows = [row for row, first in zip(whole.rows, firsts, strict=True) if first]
    # A row whose article is not known stands for itself.
    articles = [row.cluster or f"row {number}" for number, row in enumerate(rows)]
    sides = split_articles(articles, {"train": 0.9, "dev": 0.1}, seed)
    parts = {
        side: tuple(row for row, a in zip(rows, articles, strict=True) if sides[a] == side)
        for side in ("train", "dev")
    }
    return (
        replace(whole, rows=parts["train"], split="train"),
        replace(whole, rows=parts["dev"], split="dev"),
    )
