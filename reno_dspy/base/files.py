"""Files and folders that appear whole or not at all, and digests of what is in them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

# How text is written: a lone surrogate, which an LM can produce, becomes the escape that JSON has for it.
TEXT: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace"}
# What `replacing` and `replacing_folder` write to until it is whole: .NAME.PID.tmp
_UNFINISHED = re.compile(r"\..+\.\d+\.tmp")
# Where `replacing_folder` puts the folder that it replaces.
_REPLACED = re.compile(r"\.(.+)\.old\.\d+\.tmp")


def cache_dir() -> Path:
    """Where converted texts and models are kept: `$RENO_CACHE`, else `~/.cache/reno-dspy`."""
    return Path(os.environ.get("RENO_CACHE") or Path.home() / ".cache" / "reno-dspy")


def digest(value: str | bytes, digits: int = 16) -> str:
    """The first `digits` hexadecimal digits of the SHA-256 of `value` (text as UTF-8)."""
    data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    return hashlib.sha256(data).hexdigest()[:digits]


def digest_json(value: Any, digits: int = 16) -> str:
    """The digest of a JSON value; the order of keys does not matter.

    Raises TypeError for what JSON cannot hold.
    """
    return digest(json.dumps(value, ensure_ascii=False, sort_keys=True), digits)


def sha256_file(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal. Raises OSError when it cannot be read."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path`; a reader sees the old file or the whole new one."""
    with replacing(path, "w") as file:
        file.write(text)


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path`; a reader sees the old file or the whole new one."""
    with replacing(path, "wb") as file:
        file.write(data)


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON, atomically. Raises ValueError for NaN and infinities."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


@contextmanager
def replacing(path: Path, mode: str) -> Iterator[IO[Any]]:
    """Open a file for writing (mode "w" or "wb"); it replaces `path` once the block has ended well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = unfinished(path)
    try:
        with open(temporary, mode, **({} if "b" in mode else TEXT)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """A new folder to fill; it replaces the folder `path` once the block has ended well.

    No call swaps two folders everywhere, so the old one is renamed first. A process that is killed between
    the two renames leaves no `path`, never half of one; `remove_unfinished` puts the old one back.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = unfinished(path)
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
        if path.exists():
            old = unfinished(path.with_name(f"{path.name}.old"))
            path.rename(old)
            temporary.rename(path)
            shutil.rmtree(old)
        else:
            temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove_unfinished(paths: Iterable[Path]) -> None:
    """Delete those of `paths` that a killed process left while it was replacing files or folders.

    Only for places in which no other process writes.
    """
    for path in paths:
        replaced = _REPLACED.fullmatch(path.name)
        if replaced and not path.with_name(replaced[1]).exists():
            path.rename(path.with_name(replaced[1]))
        elif is_unfinished(path) and path.is_dir():
            shutil.rmtree(path)
        elif is_unfinished(path):
            path.unlink(missing_ok=True)


def is_unfinished(path: Path) -> bool:
    """Whether `path` is what a process was writing, by its name."""
    return _UNFINISHED.fullmatch(path.name) is not None


def unfinished(path: Path) -> Path:
    """Where this process puts what is to become `path` until it is whole: `.NAME.PID.tmp`."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")
