"""Data sets of (plain text, JATS) pairs: read, save, digest. DESIGN section 4.

The first four columns are the published benchmark's, so that it and ours are interchangeable:
`citing_article_doi` (nullable), `plaintext`, `xml`, `source`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reno_dspy.base.errors import InputError
from reno_dspy.base.files import digest as short_digest
from reno_dspy.base.files import sha256_file, write_bytes, write_json, write_text
from reno_dspy.base.tracker import DataRef
from reno_dspy.data.cells import flag, label, number, text
from reno_dspy.data.draw import draw

SPLITS = ("train", "dev", "test")
MANIFEST = "manifest.json"


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
    """Rows with their origin; `digest` changes with any text, annotation or order of rows."""

    rows: tuple[Row, ...]
    name: str
    path: str
    split: str | None

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


def load(data: str, split: str | None = None, limit: int | None = None, seed: int = 0) -> Dataset:
    """Load `data`: a directory of ours, a `.jsonl(.gz)` or `.parquet` file, or a hub id.

    `split` names a part of a data set that has parts; without it a file is taken whole and a directory
    or hub data set must have one part only. `limit` draws that many rows at random by `seed`, kept in
    order. Raises InputError for anything missing, empty or not in this form.
    """
    path = Path(data)
    if path.is_dir():
        rows = _read_directory(path, split)
    elif path.is_file():
        if split:
            raise InputError(f"{data} is one file and has no split {split!r}; leave --split out.")
        rows = _read_file(path)
    else:
        rows = _read_hub(data, split)
    if not rows:
        raise InputError(f"{data} holds no rows" + (f" in split {split!r}." if split else "."))
    return Dataset(tuple(draw(rows, limit, seed)), _name(path), data, split)


def splits_of(data: str) -> tuple[str, ...]:
    """The splits of a data set directory of ours, in the order train, dev, test; () for a file."""
    path = Path(data)
    return (
        tuple(s for s in SPLITS if list(path.glob(f"data/{s}-*.parquet"))) if path.is_dir() else ()
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


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects of a `.jsonl` or `.jsonl.gz` file. Raises InputError naming file and line."""
    try:
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield _record(line, f"{path}:{number}")
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise InputError(f"Cannot read {path}: {error}.") from error


def _record(line: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise InputError(f"{where} is not JSON: {error}.") from None
    if not isinstance(value, dict):
        raise InputError(f"{where} is not a JSON object.")
    return value


def to_row(record: Mapping[str, Any], where: str) -> Row:
    """A Row from a record with at least `xml`; unknown columns are left out.

    Raises InputError that names `where` and the column for a value of another type.
    """
    known = {_SYNONYMS.get(key, key): value for key, value in record.items()}
    if not isinstance(known.get("xml"), str):
        raise InputError(f"{where} has no text in column `xml` (the gold annotation).")
    values = {
        column: read(known.get(column), f"{where}: column `{column}`")
        for column, read in _READERS.items()
    }
    return Row(**(values | {"source": values["source"] or "unknown"}))


def _read_file(path: Path) -> list[Row]:
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        records = read_records(path)
        return [to_row(r, f"{path}, record {n}") for n, r in enumerate(records, start=1)]
    if path.suffix == ".parquet":
        return _read_parquet(path)
    raise InputError(f"{path} is neither .jsonl, .jsonl.gz nor .parquet.")


def _read_parquet(path: Path) -> list[Row]:
    try:
        records = pq.read_table(path).to_pylist()
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path} is not a readable Parquet file: {error}.") from error
    return [to_row(r, f"{path}, row {n}") for n, r in enumerate(records, start=1)]


def _read_directory(path: Path, split: str | None) -> list[Row]:
    if not (path / MANIFEST).is_file():
        raise InputError(
            f"{path} is not a data set of ours: it has no {MANIFEST}. Was it built whole?"
        )
    present = splits_of(str(path))
    if split is None and len(present) != 1:
        raise InputError(f"{path} has the splits {', '.join(present)}; choose one with --split.")
    chosen = split or present[0]
    if chosen not in present:
        raise InputError(f"{path} has no split {chosen!r}, only {', '.join(present)}.")
    files = sorted(path.glob(f"data/{chosen}-*.parquet"))
    return [row for file in files for row in _read_parquet(file)]


def _read_hub(name: str, split: str | None) -> list[Row]:
    if name.count("/") != 1 or name.startswith((".", "/", "~")):
        raise InputError(f"{name} does not exist (no such file or directory).")
    import datasets

    try:
        found = datasets.load_dataset(name)
    except Exception as error:
        # The hub client raises many kinds; for the user they all mean the same.
        raise InputError(
            f"{name} is neither a file here nor a data set that the hub gave: {error}"
        ) from error
    if split is None and len(found) != 1:
        raise InputError(f"{name} has the splits {', '.join(found)}; choose one with --split.")
    chosen = split or next(iter(found))
    if chosen not in found:
        raise InputError(f"{name} has no split {chosen!r}, only {', '.join(found)}.")
    return [to_row(r, f"{name}, row {n}") for n, r in enumerate(found[chosen], start=1)]


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
    return name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".parquet")
