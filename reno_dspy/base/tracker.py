"""What a job reports while it runs, and a tracker that keeps nothing of it.

Jobs receive a `Tracker` as an argument and do not know which one it is. `tracking.mlflow_tracker` has the
one that writes to MLflow, `tracking.journal` the one for `--no-tracking`, which writes to the run directory
alone. `NullTracker` is for library use, and for all but the main one of several training processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class DataRef:
    """A data set as a run's input: its name, the digest and number of its rows, and its path."""

    name: str
    digest: str
    path: str
    rows: int


class Run(Protocol):
    """One tracked run, open until its job ends."""

    @property
    def id(self) -> str | None:
        """The tracking store's id of this run; None where nothing is kept."""

    def params(self, values: Mapping[str, object]) -> None:
        """Log parameters (nested mappings become dotted names)."""

    def metrics(self, values: Mapping[str, float | None], step: int | None = None) -> None:
        """Log metrics under slash names (`recall/lenient/surname`); None (undefined) is left out."""

    def tags(self, values: Mapping[str, str]) -> None:
        """Set tags, by which runs are filtered and lineage is followed."""

    def data(self, data: DataRef, context: str) -> None:
        """Log a data set as input; `context` is its role: train, dev, test or build."""

    def artifact(self, path: Path, folder: str = "") -> None:
        """Log a file, or a directory with its contents."""

    def text(self, text: str, name: str) -> None:
        """Log `text` as the artifact `name`."""

    def describe(self, markdown: str) -> None:
        """Set the run's description (Markdown)."""

    @contextmanager
    def child(self, name: str) -> Iterator[Run]:
        """A run nested in this one (a GEPA candidate, a checkpoint)."""
        ...


class Tracker(Protocol):
    """Opens runs. One experiment per job kind."""

    @contextmanager
    def start(
        self, job: str, name: str, *, run_dir: Path, config: Mapping[str, object]
    ) -> Iterator[Run]:
        """Open a run of `job`; a resumed `run_dir` continues its earlier run.

        The run ends as FINISHED, as FAILED when the body raises, as KILLED on Ctrl-C.
        """
        ...


class NullRun:
    """A run that keeps nothing."""

    id: str | None = None

    def params(self, values: Mapping[str, object]) -> None:
        """Keep nothing."""

    def metrics(self, values: Mapping[str, float | None], step: int | None = None) -> None:
        """Keep nothing."""

    def tags(self, values: Mapping[str, str]) -> None:
        """Keep nothing."""

    def data(self, data: DataRef, context: str) -> None:
        """Keep nothing."""

    def artifact(self, path: Path, folder: str = "") -> None:
        """Keep nothing."""

    def text(self, text: str, name: str) -> None:
        """Keep nothing."""

    def describe(self, markdown: str) -> None:
        """Keep nothing."""

    @contextmanager
    def child(self, name: str) -> Iterator[Run]:
        """A nested run that keeps nothing either."""
        yield NullRun()


class NullTracker:
    """A tracker that keeps nothing."""

    @contextmanager
    def start(
        self, job: str, name: str, *, run_dir: Path, config: Mapping[str, object]
    ) -> Iterator[Run]:
        """Open a run that keeps nothing."""
        yield NullRun()
