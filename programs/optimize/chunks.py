"""Examples for extraction: pieces of the articles of a build, with the references in them.

The gold of a piece are the strings that the build matched to the article's JATS. An article's pieces
belong to the split that its rows are in; articles without rows in `train` or `dev` are not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs.extract import CHUNK_CHARS, CHUNK_OVERLAP, chunks
from programs.optimize.subsets import Sample
from reno_dspy.base.errors import InputError
from reno_dspy.base.files import digest_json
from reno_dspy.base.tracker import DataRef
from reno_dspy.build.references.find import reference_section, verify
from reno_dspy.data.dataset import load, splits_of
from reno_dspy.data.draw import draw


@dataclass(frozen=True)
class Chunk:
    """A piece of an article's list of references, and the references that stand in it whole."""

    article: str
    text: str
    references: tuple[str, ...]


def load_chunks(data: str, split: str, size: int, seed: int) -> Sample:
    """`size` chunks of the articles in `split` of a data set that `reno build` made.

    Raises InputError when `data` is another kind of data set, or holds no such chunk.
    """
    if split not in splits_of(data):
        raise InputError(f"{data} has no split {split!r}; `reno build` makes train, dev and test.")
    whole = load(data, split)
    articles = {row.cluster for row in whole.rows}
    found = [chunk for chunk in _all_chunks(Path(data)) if chunk.article in articles]
    if not found:
        raise InputError(f"No article of {data}, split {split!r}, has matched references.")
    items = tuple(draw(found, size, seed))
    ref = DataRef(f"{whole.name}-{split}-chunks", digest_chunks(items), whole.path, len(items))
    return Sample(items, ref, whole.digest)


def digest_chunks(items: Sequence[Chunk]) -> str:
    """A digest over texts and references, in order: sixteen hexadecimal digits of a SHA-256."""
    return digest_json([[one.text, one.references] for one in items])


def _all_chunks(data: Path) -> Iterator[Chunk]:
    matched = {
        record["id"]: [pair["plaintext"] for pair in record["pairs"]]
        for record in _records(data, "match")
    }
    for record in _records(data, "convert"):
        if record["error"] is not None:
            continue
        section = reference_section(record["markdown"])
        for text in chunks(section, CHUNK_CHARS, CHUNK_OVERLAP):
            inside = verify(matched.get(record["id"], []), text).references
            if inside:
                yield Chunk(record["id"], text, inside)


def _records(data: Path, stage: str) -> Iterator[dict[str, Any]]:
    path = data / "stages" / f"{stage}.jsonl"
    if not path.is_file():
        raise InputError(
            f"{path} does not exist: optimizing the extraction takes a data set of `reno build`, "
            "with its stages."
        )
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)
