"""Run directories: where one job at a time keeps its configuration, its progress and its results.

A job opens its directory with its options and with everything else that its results depend on. The same
job resumes, a different one is refused (`--fresh` starts over), and a second process has to wait.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from reno_dspy.base.errors import InputError
from reno_dspy.base.files import is_unfinished, remove_unfinished, unfinished, write_json
from reno_dspy.base.jsonl import JsonlLog
from reno_dspy.base.lock import locked
from reno_dspy.base.progress import say
from reno_dspy.base.secrets import redact

CONFIG = "config.json"
LOCK = ".lock"
_ANEW = "give the same command with --fresh or another --out"


class RunDir:
    """The directory of one job; `open` makes or resumes it, the constructor only names it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    @contextmanager
    def open(
        cls,
        path: Path,
        job: str,
        options: Mapping[str, Any],
        *,
        depends_on: Mapping[str, Any],
        fresh: bool = False,
        keep: Collection[str] = (),
        renew: bool = False,
        anew: str = _ANEW,
    ) -> Iterator[RunDir]:
        """Create the directory, or resume it, and hold its lock for the length of the block.

        `options` are the job's own (`Config.identity`). `depends_on` is everything else that determines
        its results: digests of data, prompts, adapters and models. The directory resumes when both are
        unchanged, or when `renew` says that the job itself redoes what a change affects. `fresh` first
        deletes an earlier run of the same job, except the names in `keep`.

        Raises InputError when the directory holds something else, when the same job was started with
        other options or inputs (the message lists each difference, and `anew` as the way to start over),
        and when another process is using it.
        """
        wanted = redact(json.loads(json.dumps({
            "job": job, "config": dict(options), "depends_on": dict(depends_on),
        })))  # fmt: skip
        _check_same_job(path, job, keep)
        with _alone_in(path):
            _check_same_job(path, job, keep)
            remove_unfinished(list(_entries(path)))
            if fresh:
                _clear(path, keep)
            elif (path / CONFIG).exists() and not renew:
                _check_same_inputs(path, wanted, anew)
            with _writing(path):
                write_json(path / CONFIG, wanted)
            yield cls(path)

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def log(self, name: str) -> JsonlLog:
        """The append-only log `name` of this run."""
        return JsonlLog(self.path / name)


def read_config(path: Path) -> dict[str, Any]:
    """The `{"job": ..., "config": {...}, "depends_on": {...}}` with which a run directory was opened.

    `depends_on` is missing in a directory of an earlier version, whose `config` holds some of it. Raises
    InputError when `path` is not a run directory.
    """
    try:
        value = json.loads((path / CONFIG).read_text(encoding="utf-8"))
        known = {name: value[name] for name in ("job", "config", "depends_on") if name in value}
        if not isinstance(known["job"], str) or not isinstance(known["config"], dict):
            raise TypeError("not what a job writes")
        return known
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is not a run directory (no readable {CONFIG}: {error})."
        ) from error


@contextmanager
def _alone_in(path: Path) -> Iterator[None]:
    with ExitStack() as stack:
        with _writing(path):
            path.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(path / LOCK, str(path)))
        yield


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"Cannot write to {path} ({error.strerror}). Name another --out directory."
        ) from error


def _check_same_job(path: Path, job: str, keep: Collection[str]) -> None:
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file; --out must name a directory.")
    # What a job leaves that was killed before it had written anything.
    nothing = {LOCK, *keep}
    if not path.exists() or all(p.name in nothing or is_unfinished(p) for p in path.iterdir()):
        return
    if not (path / CONFIG).exists():
        raise InputError(
            f"{path} is not empty and not a run directory; nothing was touched. "
            "Name an empty or a new --out directory."
        )
    try:
        found = read_config(path)["job"]
    except InputError as error:
        raise InputError(f"{error} Nothing was touched. Name another --out directory.") from None
    if found != job:
        raise InputError(f"{path} holds a run of `{found}`, not of `{job}`. Name another --out.")


def _check_same_inputs(path: Path, wanted: Mapping[str, Any], anew: str) -> None:
    found = read_config(path)
    config, inputs = wanted["config"], wanted["depends_on"]
    if "depends_on" not in found:
        config, inputs = config | inputs, {}
        if missing := [name for name in wanted["depends_on"] if name not in found["config"]]:
            raise InputError(
                f"{path} was made by an earlier version of reno, which did not note what it was made from "
                f"({', '.join(missing)}). Its results can still be read; to make them anew, {anew}."
            )
    if lines := _changes(found["config"], config):
        raise InputError(
            f"{path} was started with another configuration:\n{lines}\n"
            f"Use the same options to resume it; to start over, {anew}."
        )
    if lines := _changes(found.get("depends_on", {}), inputs):
        raise InputError(
            f"{path} was made from something else:\n{lines}\nPut it back to resume; to start over, {anew}."
        )


def _changes(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """A line for each value that differs; nested ones under dotted names."""
    before, after = _flat(found), _flat(wanted)
    return "\n".join(
        f"  {name}: {before.get(name)!r} -> {after.get(name)!r}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    )


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        nested = isinstance(value, Mapping) and value
        flat |= _flat(value, f"{prefix}{name}.") if nested else {f"{prefix}{name}": value}
    return flat


def _entries(path: Path) -> Iterator[Path]:
    """All files and folders in `path`, but not those of a run directory inside that is in use."""
    for entry in path.iterdir():
        yield entry
        if entry.is_dir() and not (entry / LOCK).exists():
            yield from _entries(entry)


def _clear(path: Path, keep: Collection[str]) -> None:
    """Delete what is in `path`: first out of the way, in an instant, so that no kill leaves a part."""
    away = unfinished(path / "fresh")
    away.mkdir()
    # The configuration last: with it, the directory is known as this job's.
    entries = sorted(path.iterdir(), key=lambda entry: entry.name == CONFIG)
    for entry in entries:
        if entry.name in keep:
            say(f"{entry} is kept: --fresh does not delete it.")
        elif entry.name not in (LOCK, away.name):
            entry.rename(away / entry.name)
    shutil.rmtree(away)
