"""The rows that a fine-tuning run trains and is measured on, split by citing article."""

from __future__ import annotations

from dataclasses import dataclass, replace

from finetune.recipe import FinetuneConfig
from reno_dspy.data.dataset import Dataset
from reno_dspy.data.draw import draw
from reno_dspy.data.training import train_and_dev


@dataclass(frozen=True)
class TrainingData:
    """`train` and the sample of `dev` on which the model is measured; no article is in both."""

    train: Dataset
    dev: Dataset


def load_data(config: FinetuneConfig) -> TrainingData:
    """The data of `config`: train and dev as they are, or other data split 9 to 1 by article.

    Raises InputError when there is nothing to train on.
    """
    train, dev = train_and_dev(config.data, config.seed, strict=config.strict_data)
    train = replace(train, rows=tuple(draw(train.rows, config.limit, config.seed)))
    measurable = tuple(row for row in dev.rows if row.plaintext and row.plaintext.strip())
    return TrainingData(
        train, replace(dev, rows=tuple(draw(measurable, config.dev.rows, config.seed)))
    )
