"""The progress bar of every long job: done, errors, rate and time left, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from reno_dspy.base.secrets import redact

_hidden: ContextVar[bool] = ContextVar("_hidden", default=False)


@contextmanager
def no_bars() -> Iterator[None]:
    """Show no bar inside: for callers from Python, which have an output of their own."""
    token = _hidden.set(True)
    try:
        yield
    finally:
        _hidden.reset(token)


def say(line: str) -> None:
    """Tell the user something in one line on standard error, above a bar that is shown."""
    print(f"reno: {redact(line)}", file=sys.stderr)


class Bar:
    """One task's bar; `advance` it by what is done and say in `note` what stands beside it."""

    def __init__(self, progress: Progress, description: str, total: int | None) -> None:
        self._progress = progress
        self._task = progress.add_task(description, total=total, note="")

    def advance(self, count: int = 1, note: str | None = None) -> None:
        """Count `count` more as done; `note` (errors, refs/s, ...) replaces the last one."""
        if note is None:
            self._progress.update(self._task, advance=count)
        else:
            self._progress.update(self._task, advance=count, note=note)

    def silent(self, seconds: float) -> None:
        """Say that no answer has come for so many `seconds`."""
        if not self._progress.disable:
            say(
                f"No answer for {seconds:.0f} s. The endpoint may be busy, or limit the rate; Ctrl-C "
                "keeps what was answered."
            )


@contextmanager
def bar(description: str, total: int | None, done: int = 0) -> Iterator[Bar]:
    """A live bar on a terminal; elsewhere its last state alone is printed."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    console = Console(stderr=True)
    if not console.is_terminal:
        console = Console(stderr=True, width=120)
    with Progress(*columns, console=console, disable=_hidden.get()) as progress:
        shown = Bar(progress, description, total)
        if done:
            shown.advance(done)
        yield shown
