"""The rows that a GEPA job works on: samples of `train` and `dev` that keep their proportions."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from programs.config import OptimizeConfig
from reno_dspy.base.errors import InputError
from reno_dspy.base.tracker import DataRef
from reno_dspy.data.dataset import Dataset, Row
from reno_dspy.data.training import train_and_dev
from reno_dspy.jats.citation import read


@dataclass(frozen=True)
class Sample:
    """Items of one split, their reference for a tracker, and the digest of the whole split."""

    items: tuple[Any, ...]
    ref: DataRef
    split_digest: str


def load_subsets(config: OptimizeConfig) -> tuple[Sample, Sample]:
    """Stratified samples of the usable rows of train and dev, as `train_and_dev` has them.

    Usable rows have plain text and gold with at least one field. Raises InputError when train or dev has
    none.
    """
    train, dev = train_and_dev(config.data, config.seed, strict=config.strict_data)
    return _sample(train, config.train_size, config), _sample(dev, config.dev_size, config)


def _sample(whole: Dataset, size: int, config: OptimizeConfig) -> Sample:
    rows = [row for row in whole.rows if row.plaintext and _has_fields(row)]
    if not rows:
        raise InputError(
            f"No row of {whole.path} for {whole.split} has plain text and annotated fields. GEPA takes "
            "minibatches from train and scores candidates on dev; data without dev needs rows of at "
            "least two citing articles, so that it can be split."
        )
    chosen = tuple(stratified(rows, size, config.stratify, config.seed))
    return Sample(chosen, replace(whole, rows=chosen).ref(), whole.digest)


def stratified(rows: Sequence[Row], size: int, columns: Sequence[str], seed: int) -> list[Row]:
    """Draw `size` rows so that the values of `columns` keep their shares (largest remainders).

    All rows where there are not more. The order of `rows` is kept.
    """
    unknown = [column for column in columns if column not in _COLUMNS]
    if unknown:
        raise InputError(f"No column {unknown[0]!r} to stratify by. Known: {', '.join(_COLUMNS)}.")
    if size >= len(rows):
        return list(rows)
    strata: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        strata[tuple(str(getattr(row, column)) for column in columns)].append(i)
    shares = {key: size * len(members) / len(rows) for key, members in strata.items()}
    counts = {key: int(share) for key, share in shares.items()}
    rest = sorted(shares, key=lambda key: (counts[key] - shares[key], key))
    for key in rest[: size - sum(counts.values())]:
        counts[key] += 1
    draw = random.Random(seed)
    chosen = [i for key in sorted(strata) for i in draw.sample(strata[key], counts[key])]
    return [rows[i] for i in sorted(chosen)]


def _has_fields(row: Row) -> bool:
    return any(value for values in read(row.xml).strict.values() for value in values)


_COLUMNS = tuple(Row.__dataclass_fields__)
