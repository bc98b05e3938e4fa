"""Run directories: where a job keeps its configuration, its progress and its results.

A job opens its directory with the resolved configuration. The same configuration resumes, another one
is refused (`--fresh` starts over), and whatever others may trust is written whole or not at all.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reno_dspy.base.errors import InputError
from reno_dspy.base.files import write_json
from reno_dspy.base.jsonl import JsonlLog

CONFIG = "config.json"


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
