"""What `--data` can name: a file, a directory or a hub id, each as records by split.

    a file                 .jsonl, .csv or .tsv (also .gz), or .parquet
    a directory of ours    data/SPLIT-*.parquet and manifest.json
    a corrections folder   corrections.jsonl, as `reno serve --corrections` writes it
    another directory      such files named by their split, as a hub repository has them
    a saved data set       the directory of `datasets`' save_to_disk
    a hub id               OWNER/NAME

Splits have our names: `validation` is `dev`.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reno_dspy.base.errors import InputError
from reno_dspy.base.extras import require
from reno_dspy.data.corrections import FILE, rows_by_split
from reno_dspy.data.hub import is_hub_id

MANIFEST = "manifest.json"
SPLITS = ("train", "dev", "test")

Record = dict[str, Any]

_ALIASES = {"validation": "dev", "valid": "dev", "val": "dev"}
_SUFFIXES = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")
# train.jsonl, train-00000-of-00001.parquet, validation_1.csv
_SPLIT_NAME = re.compile(r"(train|dev|test|validation|valid|val)(?![a-z])", re.IGNORECASE)
_YES, _NO = {"true", "yes", "1"}, {"false", "no", "0"}


@dataclass(frozen=True)
class Source:
    """Records of `name` by split; `splits` is empty where there are no parts."""

    name: str
    splits: tuple[str, ...]
    _read: Callable[[str], Iterable[Record]]

    def choose(self, split: str | None) -> str | None:
        """The split to read: `split`, or the only one. Raises InputError when that is not clear."""
        wanted = _ALIASES.get(split or "", split)
        if not self.splits:
            if wanted:
                raise InputError(f"{self.name} has no split {split!r}: it has no parts.")
            return None
        if wanted is None and len(self.splits) > 1:
            names = ", ".join(self.splits)
            raise InputError(f"{self.name} has the splits {names}; choose one with --split.")
        chosen = wanted or self.splits[0]
        if chosen not in self.splits:
            raise InputError(f"{self.name} has no split {split!r}, only {', '.join(self.splits)}.")
        return chosen

    def records(self, split: str | None) -> Iterator[Record]:
        """The records of a split that `choose` chose. Raises InputError when they cannot be read."""
        yield from self._read(split or "")


def open_source(data: str) -> Source:
    """What `data` names. Raises InputError when there is none, or when it is none of these."""
    path = Path(data)
    if path.is_dir():
        return _directory(path)
    if path.is_file():
        return Source(data, (), lambda _: read_file(path))
    return _hub(data)


def read_file(path: Path) -> Iterator[Record]:
    """The records of a file. Raises InputError naming it, and the line where there is one."""
    if path.suffix == ".parquet":
        return _read_parquet(path)
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        return read_records(path)
    if path.name.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz")):
        return _read_table(path)
    raise InputError(f"{path} is none of {', '.join(_SUFFIXES)}.")


def read_records(path: Path) -> Iterator[Record]:
    """The JSON objects of a `.jsonl` or `.jsonl.gz` file. Raises InputError naming file and line."""
    for number, line in enumerate(_lines(path), start=1):
        if line.strip():
            yield _record(line, f"{path}:{number}")


def _record(line: str, where: str) -> Record:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise InputError(f"{where} is not JSON: {error}.") from None
    if not isinstance(value, dict):
        raise InputError(f"{where} is not a JSON object.")
    return value


def _lines(path: Path) -> Iterator[str]:
    """The lines of a text in UTF-8, with or without a byte order mark."""
    try:
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield from file
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise InputError(f"Cannot read {path}: {error}.") from error


def _read_table(path: Path) -> Iterator[Record]:
    """The rows of a CSV or TSV file under its header; empty cells are None."""
    lines = _lines(path)
    header = next(lines, "")
    delimiter = "\t" if ".tsv" in path.suffixes else max(",;\t", key=header.count)
    csv.field_size_limit(2**31 - 1)  # an annotation may be longer than the library's limit
    names = next(csv.reader([header], delimiter=delimiter), [])
    try:
        for row in csv.DictReader(lines, names, delimiter=delimiter, strict=True):
            yield {name: _cell(name, value) for name, value in row.items() if name}
    except csv.Error as error:
        raise InputError(f"{path} is not well-formed CSV: {error}.") from error


def _cell(name: str, value: str | None) -> Any:
    """A cell's value; what is text in the file may be a number or a flag to us."""
    if not value:
        return None
    if name in ("has_pid", "citing_is_preprint") and value.lower() in _YES | _NO:
        return value.lower() in _YES
    if name == "similarity":
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _read_parquet(path: Path) -> Iterator[Record]:
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path} is not a readable Parquet file: {error}.") from error
    yield from table.to_pylist()


def _directory(path: Path) -> Source:
    if (path / FILE).is_file():
        rows = rows_by_split(path)
        return Source(str(path), tuple(rows), lambda split: rows[split])
    if (path / "dataset_dict.json").is_file():
        names = _saved(path / "dataset_dict.json")["splits"]
        return _by_split(str(path), {name: [path / name] for name in names}, _read_saved)
    if (path / "state.json").is_file():
        return Source(str(path), (), lambda _: _read_saved(path))
    if not (path / MANIFEST).is_file() and _is_ours(path):
        raise InputError(f"{path} is a data set of ours without {MANIFEST}. Was it built whole?")
    found = _files_by_split(path / "data") or _files_by_split(path)
    if not found:
        raise InputError(
            f"{path} is no data set: it has neither {MANIFEST} nor files named by their split, such as "
            "train.jsonl or data/test-00000-of-00001.parquet."
        )
    return _by_split(str(path), found, read_file)


def _files_by_split(folder: Path) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for file in sorted(folder.glob("*")):
        name = _SPLIT_NAME.match(file.name)
        if name and file.name.endswith(_SUFFIXES):
            found.setdefault(name.group(1).lower(), []).append(file)
    return found


def _is_ours(path: Path) -> bool:
    """Whether a directory without a manifest was written by `reno build`, or by `save`, in part."""
    card = path / "README.md"
    text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
    return (path / "stages").is_dir() or "\n  description: digest " in text[:500]


def _by_split(
    name: str,
    places: Mapping[str, list[Path]],
    read: Callable[[Path], Iterable[Record]],
) -> Source:
    """A source of the records that `read` finds in the places of each split, our splits first."""
    ours = {_ALIASES.get(split, split): found for split, found in places.items()}
    order = [split for split in SPLITS if split in ours]
    order += [split for split in ours if split not in SPLITS]
    return Source(
        name, tuple(order), lambda split: (one for place in ours[split] for one in read(place))
    )


def _saved(file: Path) -> Record:
    try:
        value: Record = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read ({error}).") from error
    return value


def _read_saved(folder: Path) -> Iterator[Record]:
    """The records of one data set that `datasets`' save_to_disk wrote."""
    try:
        for entry in _saved(folder / "state.json")["_data_files"]:
            with pa.memory_map(str(folder / entry["filename"])) as file:
                yield from pa.ipc.open_stream(file).read_all().to_pylist()
    except (OSError, KeyError, TypeError, pa.ArrowInvalid) as error:
        raise InputError(f"{folder} is not a readable saved data set: {error}.") from error


def _hub(name: str) -> Source:
    if not is_hub_id(name):
        raise InputError(f"{name} does not exist (no such file or directory).")
    require("hub", f"--data {name}")
    import datasets

    try:
        found = datasets.load_dataset(name)
    except Exception as error:
        # The hub client raises many kinds; for the user they all mean the same.
        raise InputError(
            f"{name} is neither a file here nor a data set that the hub gave: {error}"
        ) from error
    parts = {_ALIASES.get(split, split): split for split in found}
    return Source(name, tuple(parts), lambda split: iter(found[parts[split]]))
