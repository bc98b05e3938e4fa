"""The weights of a crfsuite model, read from its file.

crfsuite answers only for the best labels and for single ones; a value is a stretch of them. With the
weights at hand a batch goes through the lattice together, which also takes less time. The format is that
of crfsuite's `crf1d_model.c` and `cqdb.c`, all numbers little endian:

    header   "lCRF", size, "FOMC", version, features, labels, attributes; the offsets of the chunks
    "FEAT"   size, number; then of each feature its type (0 state, 1 transition), source, target, weight
    "CQDB"   size, flag, byte order, number, offset of a list of the offsets of records (value, length, key)
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat

import numpy as np
from numpy.typing import NDArray

from reno_dspy.systems.lattice import Chain

_HEADER = struct.Struct("<4sI4sI3I5I")
_CHUNK = struct.Struct("<4s2I")
_NAMES = struct.Struct("<4s5I")
_RECORD = struct.Struct("<2I")
_FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])


@dataclass(frozen=True)
class Weights:
    """A model's `labels`, the scores of its transitions, and those of its attributes.

    `table` (attributes + 1, labels) has the row `rows[attribute]`; the last row, of zeros, is of all the
    attributes that the model does not know.
    """

    labels: tuple[str, ...]
    chain: Chain
    rows: dict[str, int]
    table: NDArray[np.float64]

    def scores(self, features: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """Scores (words, labels) of words that have these `features`, at least one each."""
        if not features:
            return np.zeros((0, len(self.labels)))
        counts = [len(one) for one in features]
        unknown = repeat(len(self.table) - 1)
        found = map(self.rows.get, chain.from_iterable(features), unknown)
        rows = np.fromiter(found, dtype=np.int64, count=sum(counts))
        starts = np.cumsum([0, *counts[:-1]])
        sums: NDArray[np.float64] = np.add.reduceat(self.table[rows], starts)
        return sums


def read_weights(data: bytes) -> Weights:
    """The weights in a model file. Raises ValueError when `data` are none."""
    try:
        return _read(data)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"its content is damaged ({error})") from error


def _read(data: bytes) -> Weights:
    magic, size, kind, *_, at_features, at_labels, at_attributes, _, _ = _HEADER.unpack_from(data)
    if magic != b"lCRF" or kind != b"FOMC":
        raise ValueError("it does not begin as crfsuite's files do")
    if size > len(data):
        raise ValueError(f"it is cut: {len(data)} bytes of {size}")
    labels, attributes = _names(data, at_labels), _names(data, at_attributes)
    _, _, count = _CHUNK.unpack_from(data, at_features)
    features = np.frombuffer(data, _FEATURE, count, at_features + _CHUNK.size)
    table = np.zeros((len(attributes) + 1, len(labels)))
    steps = np.zeros((len(labels), len(labels)))
    for kind, weights in ((0, table), (1, steps)):
        chosen = features[features["type"] == kind]
        weights[chosen["source"], chosen["target"]] = chosen["weight"]
    rows = {name: row for row, name in enumerate(attributes)}
    return Weights(tuple(labels), Chain(np.zeros(len(labels)), steps), rows, table)


def _names(data: bytes, at: int) -> list[str]:
    """The strings of a CQDB chunk, by their numbers."""
    _, _, _, _, count, offset = _NAMES.unpack_from(data, at)
    names = []
    for record in struct.unpack_from(f"<{count}I", data, at + offset):
        _, length = _RECORD.unpack_from(data, at + record)
        start = at + record + _RECORD.size
        names.append(data[start : start + length].rstrip(b"\0").decode())
    return names
