"""Stages of a build: each keeps its rows in its own file, with a note of what they were made from.

A stage's file is written whole or not at all. Beside it stands a note of what it depends on; on the
next run the stage is skipped when that is unchanged. The input enters the note by its content, so that
a stage that gives the same rows again leaves the stages after it alone.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reno_dspy.base.files import replacing, write_json

Record = dict[str, Any]


@dataclass
class Tally:
    """Counts of one stage: what went in, what came out, what was dropped and why.

    A row that fails several filters counts under each reason. `also` holds what else was counted.
    """

    unit_in: str
    unit_out: str
    into: int = 0
    out: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    also: Counter[str] = field(default_factory=Counter)

    def drop(self, reason: str, count: int = 1) -> None:
        """Count `count` as dropped for `reason`."""
        if count:
            self.dropped[reason] += count

    def counts(self) -> dict[str, Any]:
        """All counts as JSON values."""
        counters = {"dropped": dict(self.dropped), "also": dict(self.also)}
        return {
            "unit_in": self.unit_in, "unit_out": self.unit_out,
            "into": self.into, "out": self.out, **counters,
        }  # fmt: skip


@dataclass(frozen=True)
class Done:
    """A finished stage: its file, the sha256 of its content, and its counts."""

    name: str
    path: Path
    sha256: str
    tally: Tally
    reused: bool

    def rows(self) -> Iterator[Record]:
        """The stage's records, in order."""
        with open(self.path, encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)


class StageStore:
    """The stage files of one run directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def reusable(self, name: str, depends_on: Mapping[str, Any]) -> Done | None:
        """The stage as an earlier run left it, when it depended on the same things.

        None also for a note that cannot be read: the stage is then done again.
        """
        try:
            note = json.loads(self._note(name).read_text(encoding="utf-8"))
            if note["fingerprint"] != fingerprint(depends_on) or not self._file(name).exists():
                return None
            counts = note["counts"]
            counters = {name: Counter(counts[name]) for name in ("dropped", "also")}
            tally = Tally(**(counts | counters))
            return Done(name, self._file(name), note["sha256"], tally, reused=True)
        except (OSError, ValueError, LookupError, TypeError):
            return None

    def write(
        self, name: str, depends_on: Mapping[str, Any], records: Iterable[Record], tally: Tally
    ) -> Done:
        """Write the stage's records; `tally` is complete once `records` is exhausted."""
        path = self._file(name)
        self._note(name).unlink(missing_ok=True)
        digest = hashlib.sha256()
        with replacing(path, "wb") as file:
            for record in records:
                line = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
                digest.update(line)
                file.write(line)
        note = {
            "fingerprint": fingerprint(depends_on),
            "sha256": digest.hexdigest(),
            "counts": tally.counts(),
        }
        write_json(self._note(name), note)
        return Done(name, path, digest.hexdigest(), tally, reused=False)

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.jsonl"

    def _note(self, name: str) -> Path:
        return self.folder / f"{name}.json"


def fingerprint(value: Mapping[str, Any]) -> str:
    """The sha256 of a JSON value, key order aside."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
