"""Run directories: where a job keeps its configuration, its progress and its results.

A job opens its directory with the resolved configuration. The same configuration resumes, another one
is refused (`--fresh` starts over), and whatever others may trust is written whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from reno_dspy.base.errors import InputError

CONFIG = "config.json"
# A lone surrogate, which an LM can produce, is written as the escape that JSON has for it.
_SURROGATES = "backslashreplace"


def cache_dir() -> Path:
    """Where converted texts and models are kept: `$RENO_CACHE`, else `~/.cache/reno-dspy`."""
    return Path(os.environ.get("RENO_CACHE") or Path.home() / ".cache" / "reno-dspy")


def sha256_file(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal. Raises OSError when it cannot be read."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` so that a reader sees the old file or the whole new one."""
    with replacing(path, "w") as file:
        file.write(text)


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that a reader sees the old file or the whole new one."""
    with replacing(path, "wb") as file:
        file.write(data)


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON, atomically."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


@contextmanager
def replacing(path: Path, mode: str) -> Iterator[IO[Any]]:
    """Open a file to write (UTF-8 text for mode "w"); it takes the place of `path` once it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    options: dict[str, Any] = {}
    if "b" not in mode:
        options = {"encoding": "utf-8", "errors": _SURROGATES}
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, mode, **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


class JsonlLog:
    """Append-only JSON lines. A line torn by a crash is cut off when the log is opened again."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[dict[str, Any]]:
        """All whole records, in the order they were written."""
        return list(self.records())

    def records(self) -> Iterator[dict[str, Any]]:
        """The whole records one by one; none where there is no file."""
        return (record for _, record in self.places())

    def places(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The whole records one by one, each with its place in the file, for `at`.

        Raises InputError for a line that is not JSON: no crash leaves one, so the file was changed.
        """
        place = 0
        if self.path.exists():
            with open(self.path, "rb") as file:
                for number, line in enumerate(file, start=1):
                    if line.endswith(b"\n"):
                        yield place, self._parsed(line, number)
                    place += len(line)

    def at(self, place: int) -> dict[str, Any]:
        """The record at a place that `places` gave."""
        with open(self.path, "rb") as file:
            file.seek(place)
            record: dict[str, Any] = json.loads(file.readline())
            return record

    @contextmanager
    def appending(self) -> Iterator[_Appender]:
        """Open for appending; every record is flushed before `write` returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._cut_torn_line()
        with open(self.path, "a", encoding="utf-8", errors=_SURROGATES) as file:
            yield _Appender(file)

    def replace(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Write the log anew with `records` alone, atomically."""
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        write_text(self.path, "".join(lines))

    def _parsed(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            record: dict[str, Any] = json.loads(line)
        except ValueError as error:
            raise InputError(
                f"{self.path}:{number} is not JSON ({error}). Mend or remove that line."
            ) from error
        return record

    def _cut_torn_line(self) -> None:
        if not self.path.exists():
            return
        with open(self.path, "rb+") as file:
            end = file.seek(0, os.SEEK_END)
            while end > 0:
                start = max(0, end - 2**16)
                file.seek(start)
                newline = file.read(end - start).rfind(b"\n")
                if newline >= 0:
                    end = start + newline + 1
                    break
                end = start
            file.truncate(end)


class _Appender:
    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, record: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(record, ensure_ascii=False) + "\n")
        self._file.flush()


class RunDir:
    """The directory of one job run, opened for one resolved configuration."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def open(
        cls, path: Path, job: str, config: Mapping[str, Any], *, fresh: bool = False
    ) -> RunDir:
        """Create the directory, or resume it when job and configuration are the same.

        `fresh` deletes an earlier run of the same job first. Raises InputError when the directory
        holds something else, or the same job with another configuration (each difference named).
        """
        wanted = {"job": job, "config": json.loads(json.dumps(dict(config)))}
        if path.exists() and not path.is_dir():
            raise InputError(f"{path} is a file; --out must name a directory.")
        if path.exists() and any(path.iterdir()):
            _check_same_job(path, job)
            if fresh:
                shutil.rmtree(path)
            else:
                _check_same_config(path, wanted["config"])
        try:
            write_json(path / CONFIG, wanted)
        except OSError as error:
            raise InputError(
                f"Cannot write to {path} ({error.strerror}). Name another --out directory."
            ) from error
        return cls(path)

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def log(self, name: str) -> JsonlLog:
        """The append-only log `name` of this run."""
        return JsonlLog(self.path / name)


def read_config(path: Path) -> dict[str, Any]:
    """The `{"job": ..., "config": {...}}` with which a run directory was opened.

    Raises InputError when `path` is not a run directory.
    """
    try:
        value: dict[str, Any] = json.loads((path / CONFIG).read_text(encoding="utf-8"))
        return {"job": value["job"], "config": value["config"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not a run directory (no readable {CONFIG}).") from error


def _check_same_job(path: Path, job: str) -> None:
    try:
        found = read_config(path)["job"]
    except InputError:
        raise InputError(
            f"{path} is not empty and not a run directory; nothing was touched. "
            "Name an empty or a new --out directory."
        ) from None
    if found != job:
        raise InputError(f"{path} holds a run of `{found}`, not of `{job}`. Name another --out.")


def _check_same_config(path: Path, wanted: Mapping[str, Any]) -> None:
    found = read_config(path)["config"]
    changed = sorted(
        key for key in found.keys() | wanted.keys() if found.get(key) != wanted.get(key)
    )
    if changed:
        lines = [f"  {key}: {found.get(key)!r} -> {wanted.get(key)!r}" for key in changed]
        raise InputError(
            f"{path} was started with another configuration:\n" + "\n".join(lines) + "\n"
            "Use the same options to resume it, another --out, or --fresh to start over."
        )
