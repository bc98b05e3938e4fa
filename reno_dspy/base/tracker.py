"""What a job tells about itself while it runs, and the tracker that keeps nothing.

Jobs receive a `Tracker` as an argument and never know which one. `tracking.mlflow_tracker` offers the
one that writes to MLflow; `NullTracker`, with the same signatures, is for library use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class DataRef:
    """A data set as a run's input: what it is called, where it lies, which rows it held."""

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
        """Keep a file, or a directory with all it holds."""

    def text(self, text: str, name: str) -> None:
        """Keep `text` as the artifact `name`."""

    def describe(self, markdown: str) -> None:
        """Say in Markdown what came out, for somebody who did not start the run."""

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
    """A run of which nothing is kept."""

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
        """A nested run of which nothing is kept either."""
        yield NullRun()


class NullTracker:
    """The tracker for library use and for `--no-tracking`."""

    @contextmanager
    def start(
        self, job: str, name: str, *, run_dir: Path, config: Mapping[str, object]
    ) -> Iterator[Run]:
        """Open a run of which nothing is kept."""
        yield NullRun()
