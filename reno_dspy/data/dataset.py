"""Data sets of (plain text, JATS) pairs: read, save, digest.

The first four columns are the published benchmark's, so that it and ours are interchangeable:
`citing_article_doi` (nullable), `plaintext`, `xml`, `source`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reno_dspy.base.errors import InputError
from reno_dspy.base.files import digest as short_digest
from reno_dspy.base.files import sha256_file, write_bytes, write_json, write_text
from reno_dspy.base.progress import say
from reno_dspy.base.tracker import DataRef
from reno_dspy.data.cells import flag, label, number, text
from reno_dspy.data.draw import draw
from reno_dspy.data.sources import MANIFEST, Record, open_source

_KINDS = (".jsonl", ".parquet", ".csv", ".tsv")
# Unusable rows that a message names; the others are counted.
_SHOWN = 3


@dataclass(frozen=True)
class Row:
    """One pair and what is known of it; the order of fields is the order of columns.

    `source` is the platform. Everything after it may be None (unknown). `similarity` is the paper's s of
    the match, `licence` the citing article's. A rendered reference has the item that it was rendered
    from as its citing article, that item's licence and provenance, and the citation style and locale.
    """

    citing_article_doi: str | None
    plaintext: str | None
    xml: str
    source: str
    id: str | None = None
    citing_article_id: str | None = None
    language: str | None = None
    publication_type: str | None = None
    has_pid: bool | None = None
    citing_is_preprint: bool | None = None
    similarity: float | None = None
    licence: str | None = None
    provenance: str | None = None
    style: str | None = None
    locale: str | None = None

    @property
    def cluster(self) -> str | None:
        """The citing article, by which rows are split and resampled; None where it is not known."""
        return self.citing_article_id or self.citing_article_doi


COLUMNS = tuple(field.name for field in fields(Row))
# Names that other collections give to our columns.
_SYNONYMS = {"citing_article": "citing_article_id", "license": "licence"}
_READERS: Mapping[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(COLUMNS, label),
    "plaintext": text,
    "xml": text,
    "has_pid": flag,
    "citing_is_preprint": flag,
    "similarity": number,
}


@dataclass(frozen=True)
class Dataset:
    """Rows with their origin; `digest` changes with any text, annotation or order of rows.

    `left_out` is how many rows of the origin could not be used.
    """

    rows: tuple[Row, ...]
    name: str
    path: str
    split: str | None
    left_out: int = 0

    @cached_property
    def digest(self) -> str:
        """Sixteen hexadecimal digits over the rows' texts, annotations, sources and articles."""
        return digest_rows(self.rows)

    def ref(self) -> DataRef:
        """What a tracker logs of this data set."""
        name = f"{self.name}-{self.split}" if self.split else self.name
        return DataRef(name=name, digest=self.digest, path=self.path, rows=len(self.rows))


def digest_rows(rows: Iterable[Row]) -> str:
    """Digest of rows, in order. Sixteen hexadecimal digits of a SHA-256."""
    digest = hashlib.sha256()
    for row in rows:
        key = [row.plaintext, row.xml, row.source, row.cluster]
        digest.update(json.dumps(key, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()[:16]


def load(
    data: str,
    split: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    *,
    strict: bool = False,
    with_text: bool = False,
) -> Dataset:
    """Load `data`: anything that `reno_dspy.data.sources` reads.

    `split` names a part of a data set that has parts; without it the data must have one part only. Rows
    that cannot be used (no annotation, a value of another type; no plain text, if `with_text` asks for
    it) are left out, which is said in a line; `strict` refuses data that has any. `limit` draws that many
    of the others at random by `seed`, kept in order. Raises InputError for anything missing, without a
    usable row, or not in this form.
    """
    source = open_source(data)
    chosen = source.choose(split)
    rows, problems = _read(source.records(chosen), with_text)
    where = data + (f", split {split!r}," if split else "")
    if not rows and not problems:
        raise InputError(f"{where} holds no rows.")
    if problems and (strict or not rows):
        raise InputError(f"{where} {_unusable(problems, len(rows))}.")
    if problems:
        say(f"{where} {_unusable(problems, len(rows))}. --strict-data refuses such data.")
    drawn = tuple(draw(rows, limit, seed))
    return Dataset(drawn, _name(Path(data)), data, chosen if split else None, len(problems))


def splits_of(data: str) -> tuple[str, ...]:
    """The splits of `data`, train, dev and test first; () for data without parts.

    Raises InputError when there is no such data.
    """
    return open_source(data).splits


def _read(records: Iterable[Record], with_text: bool) -> tuple[list[Row], list[str]]:
    """The usable rows, and what is wrong with each of the others."""
    rows, problems = [], []
    for place, record in enumerate(records, start=1):
        try:
            row = to_row(record, f"row {place}")
        except InputError as error:
            problems.append(str(error).rstrip("."))
            continue
        if with_text and not (row.plaintext or "").strip():
            problems.append(f"row {place} has no plain text")
        else:
            rows.append(row)
    return rows, problems


def _unusable(problems: Sequence[str], usable: int) -> str:
    shown = "; ".join(problems[:_SHOWN])
    more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    return (
        f"has {len(problems)} of {len(problems) + usable} rows that cannot be used: {shown}{more}"
    )


def save(
    splits: Mapping[str, Sequence[Row]], out: Path, card: str, manifest: Mapping[str, Any]
) -> str:
    """Save a data set as Parquet by split, with its card and manifest; return its digest.

    `datasets.load_dataset(out)` reads it. The manifest is written last: a directory without one is not
    whole. It gains `digest` (over all splits), rows per split and the sha256 of every file.
    """
    (out / MANIFEST).unlink(missing_ok=True)
    for old in out.glob("data/*.parquet"):
        old.unlink()
    for name, rows in splits.items():
        write_bytes(out / "data" / f"{name}-00000-of-00001.parquet", _to_parquet(rows))
    split_digests = {name: digest_rows(rows) for name, rows in splits.items()}
    digest = short_digest(json.dumps(split_digests))
    write_text(out / "README.md", _card_header(splits, digest) + card)
    files = [*sorted(out.rglob("*.parquet")), out / "README.md"]
    whole = {
        **manifest,
        "digest": digest,
        "rows": {name: len(rows) for name, rows in splits.items()},
        "split_digests": split_digests,
        "files": {str(p.relative_to(out)): sha256_file(p) for p in files},
    }
    write_json(out / MANIFEST, whole)
    return digest


def to_row(record: Mapping[str, Any], where: str) -> Row:
    """A Row from a record with at least `xml`; unknown columns are left out.

    Raises InputError that names `where` and the column for a value of another type.
    """
    known = {_SYNONYMS.get(key, key): value for key, value in record.items()}
    if not isinstance(known.get("xml"), str):
        columns = ", ".join(map(str, record)) or "none"
        raise InputError(f"{where} has no text in column `xml` (its columns: {columns}).")
    values = {
        column: read(known.get(column), f"{where}: column `{column}`")
        for column, read in _READERS.items()
    }
    return Row(**(values | {"source": values["source"] or "unknown"}))


def _to_parquet(rows: Sequence[Row]) -> bytes:
    types = {"has_pid": pa.bool_(), "citing_is_preprint": pa.bool_(), "similarity": pa.float64()}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in COLUMNS])
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([asdict(row) for row in rows], schema=schema), sink)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _card_header(splits: Mapping[str, Sequence[Row]], digest: str) -> str:
    """What `datasets` reads of the card.

    It caches by the folder's name and this header, not by content: with the digest in it, a data set
    that was built again (or another one of that name) is not answered from the cache.
    """
    parts = "".join(f"  - split: {name}\n    path: data/{name}-*.parquet\n" for name in splits)
    head = f"configs:\n- config_name: default\n  description: digest {digest}\n"
    return f"---\n{head}  data_files:\n{parts}---\n"


def _name(path: Path) -> str:
    # `.` and `..` have no name of their own.
    name = path.name if path.name not in ("", "..") else path.resolve().name
    name = name.removesuffix(".gz")
    return name.removesuffix(next((s for s in _KINDS if name.endswith(s)), ""))
