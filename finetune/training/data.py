"""The rows that a fine-tuning run trains and is measured on, split by citing article."""

from __future__ import annotations

from dataclasses import dataclass, replace

from finetune.recipe import FinetuneConfig
from reno_dspy.data.dataset import Dataset, load, splits_of
from reno_dspy.data.draw import draw
from reno_dspy.data.training import train_and_dev
from reno_dspy.synthesize.split import HeldApart


@dataclass(frozen=True)
class TrainingData:
    """`train` and the sample of `dev` on which the model is measured; no article is in both."""

    train: Dataset
    dev: Dataset


def load_data(config: FinetuneConfig) -> TrainingData:
    """The data of `config`: train and dev as they are, or other data split 9 to 1 by article.

    With `rehearsal`, old rows are among both. Raises InputError when there is nothing to train on.
    """
    train, dev = train_and_dev(config.data, config.seed, strict=config.strict_data)
    train = replace(train, rows=tuple(draw(train.rows, config.limit, config.seed)))
    if config.rehearsal:
        train, dev = _with_old_rows(train, dev, config.rehearsal, config)
    measurable = tuple(row for row in dev.rows if row.plaintext and row.plaintext.strip())
    return TrainingData(
        train, replace(dev, rows=tuple(draw(measurable, config.dev.rows, config.seed)))
    )


def _with_old_rows(
    train: Dataset, dev: Dataset, old: str, config: FinetuneConfig
) -> tuple[Dataset, Dataset]:
    """`train` and `dev` with rows of those of `old`, so that these are `rehearsal_share` of all.

    Old rows that cite a work of the new data are left out: they could contradict a correction, or give
    away what is measured.
    """
    test = load(config.data, "test").rows if "test" in splits_of(config.data) else ()
    apart = HeldApart([*train.rows, *dev.rows, *test])
    times = config.rehearsal_share / (1 - config.rehearsal_share)

    def mixed(new: Dataset, olds: Dataset) -> Dataset:
        usable = [row for row in olds.rows if not apart.cited_by(row)]
        rows = draw(usable, round(len(new.rows) * times), config.seed)
        return replace(new, name=f"{new.name}+{olds.name}", rows=(*new.rows, *rows))

    before = train_and_dev(old, config.seed, strict=config.strict_data)
    return mixed(train, before[0]), mixed(dev, before[1])
