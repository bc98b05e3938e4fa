"""The tracker that writes to MLflow (`reno_dspy.base.tracker.Tracker`).

Every job passes it to what it runs; nothing else in the project writes runs. Run ids are explicit
everywhere: there is no global active run that threads could confuse. What a job logs goes to the
journal in the run directory first and from there to the store; sending an event twice changes nothing,
so a store that comes back late, or a `kill -9` in between, leaves nothing out and nothing double.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from reno_dspy.base.errors import InputError, JobError
from tracking.journal import Journal, JournalRun, open_run
from tracking.machine import watching_the_machine
from tracking.sender import Sender
from tracking.store import prepare_environment, store_uri


class MlflowTracker:
    """Writes runs to the MLflow store at `uri` (default: see `tracking.store`)."""

    def __init__(self, uri: str | None = None) -> None:
        self.uri = uri or store_uri()

    @contextmanager
    def start(
        self, job: str, name: str, *, run_dir: Path, config: Mapping[str, object]
    ) -> Iterator[JournalRun]:
        """Open a run of `job`; a resumed `run_dir` continues its earlier run.

        The run ends as FINISHED, as FAILED when the body raises, as KILLED on Ctrl-C. A store that
        cannot be reached is reported once; the job goes on and the journal keeps all.
        """
        prepare_environment()
        import mlflow.tracking  # noqa: F401  (takes seconds; not while the job's thread imports, too)

        journal = Journal(run_dir)
        sender = Sender(journal, self.uri, lambda trouble: _job_goes_on(trouble, run_dir))
        watching = ExitStack()
        with journal.writing():
            try:
                # One thread sends, in order, so that the job does not wait for the store.
                with ThreadPoolExecutor(1, "tracking") as thread:
                    # What an earlier session was killed before it could send.
                    thread.submit(sender.send)
                    journal.on_event = lambda: thread.submit(sender.send)
                    journal.run_id = lambda run: thread.submit(sender.run_id, run).result()
                    with open_run(journal, job, name, config) as run:
                        thread.submit(_watch, watching, sender)
                        try:
                            yield run
                        finally:
                            thread.submit(watching.close)
            finally:
                journal.run_id = sender.run_id
                sender.close()


def _watch(watching: ExitStack, sender: Sender) -> None:
    watching.enter_context(watching_the_machine(sender.run_id(""), sender.uri))


def log_run_dir(run_dir: Path, uri: str | None = None) -> str:
    """Write what the store does not have yet of a run directory's journal; returns the run's id.

    Raises InputError for a directory without a journal, JobError when the store cannot be reached.
    """
    journal = Journal(run_dir)
    if not journal.events:
        raise InputError(f"{run_dir} keeps no record of a run (no tracking.jsonl): nothing to log.")
    troubles: list[str] = []
    sender = Sender(journal, uri or store_uri(), troubles.append)
    sender.send()
    sender.close()
    if troubles:
        raise JobError(f"{troubles[0]} Try again when it is back.")
    return str(sender.run_id(""))


def _job_goes_on(trouble: str, run_dir: Path) -> None:
    later = f"reno runs log {run_dir}"
    print(f"\nreno: {trouble} The job goes on; write the run later with: {later}", file=sys.stderr)
