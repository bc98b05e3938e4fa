"""The tracker that writes to MLflow (`reno_dspy.tracker.Tracker`).

Every job passes it to what it runs; nothing else in the project writes runs. Run ids are explicit
everywhere: there is no global active run that threads could confuse. What a job tells goes to the
journal in the run directory first and from there to the store; sending an event twice changes nothing,
so a store that comes back late, or a `kill -9` in between, leaves nothing out and nothing double.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reno_dspy.errors import InputError, JobError
from reno_dspy.rundir import write_json
from tracking.journal import STATE, Event, Journal, JournalRun, open_run
from tracking.lineage import NOTE, link_neighbours
from tracking.logged_models import Models
from tracking.machine import watching_the_machine
from tracking.store import cannot_reach, experiment_id, open_client, public_uri, store_uri

if TYPE_CHECKING:
    from mlflow.entities import Param, RunTag
    from mlflow.tracking import MlflowClient

IDENTITY = "reno.run"
_LONGEST_PARAM = 6000
_LONGEST_TAG = 5000
_LONGEST_NOTE = 4000  # leaves room for the links that lineage adds
_LONGEST_DIGEST = 36
_PAUSE_SECONDS = 0.5
_BATCH = 100  # MLflow's limit for parameters and tags in one request


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
        journal = Journal(run_dir)
        sender = Sender(journal, self.uri, lambda trouble: _job_goes_on(trouble, run_dir))
        journal.told = sender.send
        journal.run_id = sender.run_id
        with journal.writing():
            try:
                with (
                    open_run(journal, job, name, config) as run,
                    watching_the_machine(run.id, self.uri),
                ):
                    yield run
            finally:
                sender.close()


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


class Sender:
    """Sends a journal's events, in order, to one store; remembers how far it came."""

    def __init__(self, journal: Journal, uri: str, tell: Callable[[str], None]) -> None:
        """`tell` is called with the first failure, in a sentence."""
        self.uri = uri
        self._tell = tell
        self.trouble: Exception | None = None
        self._journal = journal
        self._client: MlflowClient | None = None
        self._path = journal.run_dir / STATE
        self._stores = _read_state(self._path)
        state = self._stores.get(public_uri(uri), {"sent": 0, "runs": {}, "experiment": ""})
        self._sent: int = state["sent"]
        self._runs: dict[str, str] = state["runs"]
        self._experiment: str = state["experiment"]
        self._models = Models(journal.events)

    def run_id(self, key: str) -> str | None:
        """The store's id of the run `key`; None while it has none."""
        return self._runs.get(key)

    def send(self) -> None:
        """Send all that was not sent yet. The first failure is told; from then on nothing is sent."""
        if self.trouble is not None:
            return
        try:
            if self._client is None:
                self._client = open_client(self.uri)
            while self._sent < len(self._journal.events):
                self._apply_again_if_need_be(self._client, self._journal.events[self._sent])
                self._sent += 1
        except Exception as error:  # whatever fails here, the job must go on
            self.trouble = error
            self._tell(cannot_reach(self.uri, error))

    def close(self) -> None:
        """Remember what was sent."""
        state = {"sent": self._sent, "runs": self._runs, "experiment": self._experiment}
        self._stores[public_uri(self.uri)] = state
        write_json(self._path, self._stores)

    def _apply_again_if_need_be(self, client: MlflowClient, event: Event) -> None:
        """Apply an event. Two jobs that start at once may get in each other's way: once more, then."""
        try:
            self._apply(client, event)
        except Exception:  # MLflow tells a lost race in many ways
            time.sleep(_PAUSE_SECONDS)
            self._apply(client, event)

    def _apply(self, client: MlflowClient, event: Event) -> None:
        do, key = event["do"], event["run"]
        if do in ("start", "child"):
            self._open(client, event)
            return
        run = self._runs[key]
        if do == "resume":
            client.update_run(run, status="RUNNING")
        elif do == "end":
            client.set_terminated(run, status=event["status"], end_time=event["at"])
            if key == "":
                link_neighbours(client, run)
        elif do == "describe":
            client.set_tag(run, NOTE, event["text"][:_LONGEST_NOTE])
        elif do == "text":
            client.log_text(run, event["text"], event["name"])
        elif do == "artifact":
            _log_artifact(client, run, self._journal.run_dir, event)
        elif do == "data":
            self._models.follow(client, run, self._experiment, event)
            _log_data(client, run, event)
        elif do == "tags":
            _log_in_batches(client, run, tags=_tags(event))
            self._models.follow(client, run, self._experiment, event)
        elif do == "params":
            _log_in_batches(client, run, params=_params(event))
        elif do == "metrics":
            at, step = event["at"], event["step"] or 0
            metrics = [
                self._models.metric(key, name, value, at, step)
                for name, value in event["values"].items()
            ]
            _log_in_batches(client, run, metrics=metrics)

    def _open(self, client: MlflowClient, event: Event) -> None:
        """Create the run of an event, or find the one that an earlier try created."""
        identity = f"{self._journal.identity}/{event['run']}"
        tags = {IDENTITY: identity, "job": self._journal.events[0]["job"]}
        if event["do"] == "start":
            self._experiment = experiment_id(client, event["job"])
        else:
            tags["mlflow.parentRunId"] = self._runs[event["parent"]]
        experiment = self._experiment
        found = client.search_runs([experiment], f"tags.`{IDENTITY}` = '{identity}'", max_results=1)
        if found:
            run = found[0]
            client.update_run(run.info.run_id, status="RUNNING")
        else:
            run = client.create_run(experiment, event["at"], tags, run_name=event["name"])
        self._runs[event["run"]] = str(run.info.run_id)
        self.close()


def _read_state(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    state: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return state


def _tags(event: Event) -> list[RunTag]:
    from mlflow.entities import RunTag

    return [RunTag(name, value[:_LONGEST_TAG]) for name, value in event["values"].items()]


def _params(event: Event) -> list[Param]:
    from mlflow.entities import Param

    return [Param(name, value[:_LONGEST_PARAM]) for name, value in event["values"].items()]


def _log_in_batches(client: MlflowClient, run: str, **given: list[Any]) -> None:
    """Log `tags`, `params` or `metrics`, as many at once as a store takes."""
    for what, items in given.items():
        for start in range(0, len(items), _BATCH):
            client.log_batch(run, **{what: items[start : start + _BATCH]})


def _log_data(client: MlflowClient, run: str, event: Event) -> None:
    from mlflow.entities import Dataset, DatasetInput, InputTag

    dataset = Dataset(
        name=event["name"],
        digest=event["digest"][:_LONGEST_DIGEST],
        source_type="local",
        source=json.dumps({"uri": event["path"]}),
        profile=json.dumps({"num_rows": event["rows"]}),
    )
    context = InputTag("mlflow.data.context", event["context"])
    client.log_inputs(run, [DatasetInput(dataset, [context])])


def _log_artifact(client: MlflowClient, run: str, run_dir: Path, event: Event) -> None:
    path = run_dir / event["path"]
    folder = event["folder"] or None
    if path.is_dir():
        client.log_artifacts(run, str(path), folder)
    elif path.exists():
        client.log_artifact(run, str(path), folder)
