"""Append-only logs of JSON lines that survive a killed process."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from reno_dspy.base.errors import InputError
from reno_dspy.base.files import TEXT, replacing


class JsonlLog:
    """One JSON object a line. A last line that a crash cut short is not read, and cut off on opening."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[dict[str, Any]]:
        """All whole records, in the order they were written. Raises InputError as `with_offsets`."""
        return list(self.records())

    def records(self) -> Iterator[dict[str, Any]]:
        """The whole records one by one; none where there is no file."""
        return (record for _, record in self.with_offsets())

    def with_offsets(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The whole records one by one, each with its offset in the file, for `at`.

        Raises InputError for a line that is not a JSON object: no crash leaves one, so somebody changed
        the file.
        """
        offset = 0
        if self.path.exists():
            with open(self.path, "rb") as file:
                for number, line in enumerate(file, start=1):
                    if line.endswith(b"\n"):
                        yield offset, self._parsed(line, number)
                    offset += len(line)

    def at(self, offset: int) -> dict[str, Any]:
        """The record at an offset that `with_offsets` gave."""
        with open(self.path, "rb") as file:
            file.seek(offset)
            record: dict[str, Any] = json.loads(file.readline())
            return record

    @contextmanager
    def appending(self) -> Iterator[Appender]:
        """Open for appending; every record is flushed before `write` returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._cut_torn_line()
        with open(self.path, "a", **TEXT) as file:
            yield Appender(file)

    def replace(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Write the log anew with `records` alone, atomically."""
        with replacing(self.path, "w") as file:
            for record in records:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")

    def _parsed(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            record = json.loads(line)
        except ValueError as error:
            raise self._damaged(number, f"is not JSON ({error})") from error
        if not isinstance(record, dict):
            raise self._damaged(number, "is not a JSON object")
        return record

    def _damaged(self, number: int, what: str) -> InputError:
        return InputError(f"{self.path}:{number} {what}. Mend or remove that line.")

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


class Appender:
    """Writes records to a log that is open for appending."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, record: Mapping[str, Any]) -> None:
        """Append one record and flush it."""
        self._file.write(json.dumps(record, ensure_ascii=False) + "\n")
        self._file.flush()

    def sync(self) -> None:
        """Have what was written outlast a power failure, too. Raises OSError when the disk is full."""
        os.fsync(self._file.fileno())
