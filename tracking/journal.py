"""The journal of a run: everything that a job logs, kept in the run directory first.

`RUN_DIR/tracking.jsonl` has one event a line. The store is written from it, so that a run made while the
store was away, or with `--no-tracking`, can be written later (`reno runs log RUN_DIR`). `JournalTracker`
is the tracker that only keeps the journal.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from reno_dspy.base.files import digest_json
from reno_dspy.base.jsonl import JsonlLog
from reno_dspy.base.secrets import redact
from reno_dspy.base.tracker import DataRef
from tracking.environment import about, versions

Event = dict[str, Any]
JOURNAL = "tracking.jsonl"


class Journal:
    """The events of one run directory. Events that it already holds are skipped."""

    def __init__(self, run_dir: Path, on_event: Callable[[], object] = lambda: None) -> None:
        """`on_event` is called, under the journal's lock, whenever an event was added."""
        self.run_dir = run_dir
        self._log = JsonlLog(run_dir / JOURNAL)
        self.events: list[Event] = self._log.read()
        self.on_event = on_event
        self.run_id: Callable[[str], str | None] = lambda run: None
        self._write: Callable[[Event], None] | None = None
        self._lock = threading.RLock()
        self._known: dict[tuple[str, ...], Any] = {}
        # A finished run that is opened again stays as it is until something new is logged.
        last = self.events[-1] if self.events else {}
        self.asleep = last.get("run") == "" and last.get("status") == "FINISHED"
        for event in self.events:
            self._unknown(event)

    @property
    def identity(self) -> str:
        """The id under which a store recognizes this journal's runs; made by its first event."""
        return str(self.events[0]["identity"])

    @contextmanager
    def writing(self) -> Iterator[Journal]:
        """Open the journal for new events."""
        with self._log.appending() as file:
            self._write = file.write
            yield self

    def add(self, run: str, do: str, **details: Any) -> None:
        """Keep an event of the run `run` ("" is the job's own), unless it is there already."""
        with self._lock:
            event = redact({"do": do, "run": run, "at": _now(), **details})
            event = self._unknown(event)
            if event is None or (self.asleep and do == "end"):
                return
            if self.asleep:
                self.asleep = False
                self._keep({"do": "resume", "run": "", "at": _now()})
                self.add("", "tags", values=about())
            self._keep(event)
            self.on_event()

    def _keep(self, event: Event) -> None:
        if self._write is None:
            raise RuntimeError("The journal is not open for writing.")
        self._write(event)
        self.events.append(event)

    def wall_seconds(self) -> float:
        """Seconds that the job ran, all its sessions together (to its last event each)."""
        total = 0
        since = last = None
        for event in self.events:
            if event["run"] == "" and event["do"] in ("start", "resume"):
                total += last - since if since is not None and last is not None else 0
                since = event["at"]
            last = event["at"]
        now = _now()
        return (total + (now - since if since is not None else 0)) / 1000

    def _unknown(self, event: Event) -> Event | None:
        """The part of an event that is new: None when nothing is."""
        run, do = event["run"], event["do"]
        if do in ("params", "tags", "metrics"):
            step = str(event.get("step"))
            new = {
                name: value
                for name, value in event["values"].items()
                if self._remember((run, do, name, step), value, once=do == "params")
            }
            return {**event, "values": new} if new else None
        if do in ("data", "text", "describe", "artifact"):
            content = {key: value for key, value in event.items() if key != "at"}
            place = event.get("context", "") + event.get("path", "") + event.get("folder", "")
            key = (run, do, event.get("name", ""), place)
            return event if self._remember(key, _digest(content)) else None
        return event

    def _remember(self, key: tuple[str, ...], value: Any, *, once: bool = False) -> bool:
        """Whether `value` is new under `key`; with `once`, the first value stands."""
        if key in self._known and (once or self._known[key] == value):
            return False
        self._known[key] = value
        return True


class JournalRun:
    """A run that writes to its journal (`reno_dspy.base.tracker.Run`)."""

    def __init__(self, journal: Journal, key: str) -> None:
        self._journal = journal
        self._key = key

    @property
    def id(self) -> str | None:
        """The store's id of this run; None while no store has it."""
        return self._journal.run_id(self._key)

    def params(self, values: Mapping[str, object]) -> None:
        """Keep parameters; nested mappings become dotted names, other values JSON."""
        self._journal.add(self._key, "params", values=flatten(redact(dict(values))))

    def metrics(self, values: Mapping[str, float | None], step: int | None = None) -> None:
        """Keep metrics; None (undefined) is left out."""
        defined = {name: float(value) for name, value in values.items() if value is not None}
        self._journal.add(self._key, "metrics", values=defined, step=step)

    def tags(self, values: Mapping[str, str]) -> None:
        """Keep tags."""
        self._journal.add(self._key, "tags", values={k: str(v) for k, v in values.items()})

    def data(self, data: DataRef, context: str) -> None:
        """Keep a data set as input.

        A data set of `reno build` is also tagged by the digest of its whole directory. Lineage then finds
        its build, whatever split or part of it was taken. What a build gives has the context `build`.
        """
        whole = _dataset_digest(Path(data.path))
        if whole is not None:
            self.tags({"makes.dataset" if context == "build" else "uses.dataset": whole})
        reference = {"name": data.name, "digest": data.digest, "path": data.path, "rows": data.rows}
        self._journal.add(self._key, "data", context=context, **reference)

    def artifact(self, path: Path, folder: str = "") -> None:
        """Keep where a file or directory lies; a store copies it."""
        inside = path.resolve().is_relative_to(self._journal.run_dir.resolve())
        shown = os.path.relpath(path, self._journal.run_dir) if inside else str(path.resolve())
        self._journal.add(
            self._key, "artifact", path=shown, folder=folder, sha256=_content_digest(path)
        )

    def text(self, text: str, name: str) -> None:
        """Keep `text` as the artifact `name`."""
        self._journal.add(self._key, "text", text=text, name=name)

    def describe(self, markdown: str) -> None:
        """Keep the description."""
        self._journal.add(self._key, "describe", text=markdown)

    @contextmanager
    def child(self, name: str) -> Iterator[JournalRun]:
        """A nested run; the same name continues it after a resume."""
        key = f"{self._key}/{name}".lstrip("/")
        self._journal.add(key, "child", name=name, parent=self._key)
        run = JournalRun(self._journal, key)
        with _ending(self._journal, key):
            yield run


class JournalTracker:
    """The tracker for `--no-tracking`: all is kept in the run directory, nothing sent."""

    @contextmanager
    def start(
        self, job: str, name: str, *, run_dir: Path, config: Mapping[str, object]
    ) -> Iterator[JournalRun]:
        """Open a run of `job`, of which only the journal is kept."""
        with Journal(run_dir).writing() as journal, open_run(journal, job, name, config) as run:
            yield run


@contextmanager
def open_run(
    journal: Journal, job: str, name: str, config: Mapping[str, object]
) -> Iterator[JournalRun]:
    """The job's own run: started or resumed, with configuration, environment, wall time, ending."""
    run = JournalRun(journal, "")
    if not journal.asleep:
        if journal.events:
            journal.add("", "resume")
        else:
            journal.add("", "start", job=job, name=name, identity=uuid4().hex)
        run.tags({"job": job, **about()})
        run.params(config)
        run.text(_json(redact(dict(config))), "config.json")
        run.text(_json(versions()), "environment.json")
    with ExitStack() as stack:
        stack.enter_context(_ending(journal, ""))
        stack.callback(_tell_wall_time, journal, run)
        yield run


def _tell_wall_time(journal: Journal, run: JournalRun) -> None:
    if not journal.asleep:
        run.metrics({"wall_s": journal.wall_seconds()})


@contextmanager
def _ending(journal: Journal, key: str) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        journal.add(key, "end", status="KILLED")
        raise
    except BaseException as error:
        cause = _cause(error)
        journal.add(key, "tags", values={"error": f"{type(cause).__name__}: {cause}"})
        journal.add(key, "text", text=traceback.format_exc(), name="error.txt")
        journal.add(key, "end", status="FAILED")
        raise
    journal.add(key, "end", status="FINISHED")


def _cause(error: BaseException) -> BaseException:
    """The error itself: of a group with one (asyncio's task groups), that one."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def flatten(values: Mapping[str, object], prefix: str = "") -> dict[str, str]:
    """Nested mappings as dotted names; strings as they are, all else as JSON."""
    flat: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            flat |= flatten(value, f"{prefix}{name}.")
        else:
            is_text = isinstance(value, str)
            flat[f"{prefix}{name}"] = str(value) if is_text else json.dumps(value, default=str)
    return flat


def _dataset_digest(folder: Path) -> str | None:
    manifest = folder / "manifest.json"
    if not manifest.is_file():
        return None
    digest = json.loads(manifest.read_text(encoding="utf-8")).get("digest")
    return str(digest) if digest else None


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def _content_digest(path: Path) -> str:
    """Digest of a file, or of all files of a directory with their names; "" for neither."""
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    whole = hashlib.sha256()
    for file in files:
        if not file.is_file():
            return ""
        with open(file, "rb") as stream:
            content = hashlib.file_digest(stream, "sha256").digest()
        whole.update(os.path.relpath(file, path).encode() + b"\0" + content)
    return whole.hexdigest()


def _digest(value: Any) -> str:
    return digest_json(value)


def _now() -> int:
    return int(time.time() * 1000)
