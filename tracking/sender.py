"""From a run directory's journal to one MLflow store."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reno_dspy.base.errors import JobError
from tracking.journal import Event, Journal
from tracking.lineage import NOTE, link_neighbours
from tracking.logged_models import Models
from tracking.sent import Sent, read_sent, write_sent
from tracking.store import cannot_reach, experiment_id, open_client

if TYPE_CHECKING:
    from mlflow.entities import Metric, Param, RunTag
    from mlflow.tracking import MlflowClient

IDENTITY = "reno.run"
_PARENT = "mlflow.parentRunId"
_LONGEST_PARAM = 6000
_LONGEST_TAG = 5000
_LONGEST_NOTE = 4000  # leaves room for the links that lineage adds
_LONGEST_DIGEST = 36
_PAUSE_SECONDS = 0.5
_BATCH = 100  # MLflow's limit for parameters and tags in one request
# Events that begin or end a run are sent one by one; those in between, together.
_ALONE = ("start", "child", "resume", "end")


class Sender:
    """Sends a journal's events, in order, to one store; remembers how far it came."""

    def __init__(self, journal: Journal, uri: str, on_trouble: Callable[[str], None]) -> None:
        """`on_trouble` is called with the first failure, in a sentence."""
        self.uri = uri
        self._on_trouble = on_trouble
        self.trouble: Exception | None = None
        self._journal = journal
        self._client: MlflowClient | None = None
        self._state = read_sent(journal.run_dir, uri)
        self._models = Models(journal.events)

    def run_id(self, key: str) -> str | None:
        """The store's id of the run `key`; None while it has none."""
        return self._state.runs.get(key)

    def send(self) -> None:
        """Send all that was not sent yet. The first failure is reported; from then on nothing is sent."""
        if self.trouble is not None:
            return
        try:
            if self._client is None:
                self._client = open_client(self.uri)
                self._start_over_if_gone(self._client)
            while pending := self._next():
                self._apply_again_if_need_be(pending)
                self._state.sent += len(pending)
        except Exception as error:  # whatever fails here, the job must go on
            self.trouble = error
            known = isinstance(error, JobError)
            self._on_trouble(str(error) if known else cannot_reach(self.uri, error))

    def close(self) -> None:
        """Remember what was sent."""
        write_sent(self._journal.run_dir, self.uri, self._state)

    def _start_over_if_gone(self, client: MlflowClient) -> None:
        """Send everything anew to a store that does not have the run: another one, or it was deleted."""
        from mlflow.exceptions import MlflowException
        from mlflow.protos.databricks_pb2 import RESOURCE_DOES_NOT_EXIST, ErrorCode

        if not self._state.runs:
            return
        try:
            run = client.get_run(self._state.runs[""])
        except MlflowException as error:
            if error.error_code != ErrorCode.Name(RESOURCE_DOES_NOT_EXIST):
                raise
        else:
            ours = run.data.tags.get(IDENTITY) == self._identity("")
            if ours and run.info.lifecycle_stage == "active":
                return
        self._state = Sent()

    def _identity(self, key: str) -> str:
        return f"{self._journal.identity}/{key}"

    def _next(self) -> list[Event]:
        """The next event that was not sent, with those behind it that the store takes together."""
        pending = self._journal.events[self._state.sent :]
        if not pending or pending[0]["do"] in _ALONE:
            return pending[:1]
        run = pending[0]["run"]
        return list(takewhile(lambda e: e["run"] == run and e["do"] not in _ALONE, pending))

    def _apply_again_if_need_be(self, events: list[Event]) -> None:
        """Apply events. Two jobs that start at once may get in each other's way: once more, then."""
        assert self._client
        try:
            self._apply(self._client, events)
        except Exception:  # MLflow reports a lost race in many ways
            time.sleep(_PAUSE_SECONDS)
            # Fails soon where the server has stopped answering.
            self._client = open_client(self.uri)
            self._apply(self._client, events)

    def _apply(self, client: MlflowClient, events: list[Event]) -> None:
        do, key = events[0]["do"], events[0]["run"]
        if do in ("start", "child"):
            self._open(client, events[0])
        elif do == "resume":
            client.update_run(self._state.runs[key], status="RUNNING")
        elif do == "end":
            [end] = events
            client.set_terminated(self._state.runs[key], status=end["status"], end_time=end["at"])
            if key == "":
                link_neighbours(client, self._state.runs[key])
        else:
            self._tell_between(client, self._state.runs[key], events)

    def _tell_between(self, client: MlflowClient, run: str, events: list[Event]) -> None:
        """Send events of one run: files and data one by one, all else in one request."""
        tags: dict[str, RunTag] = {}
        batch: dict[str, list[Any]] = defaultdict(list)
        for event in events:
            do = event["do"]
            if do in ("tags", "data"):
                self._models.follow(client, run, self._state.experiment, event)
            if do == "text":
                client.log_text(run, event["text"], event["name"])
            elif do == "artifact":
                _log_artifact(client, run, self._journal.run_dir, event)
            elif do == "data":
                _log_data(client, run, event)
            elif do in ("tags", "describe"):
                tags |= _tags(event)
            elif do == "params":
                batch["params"] += _params(event)
            elif do == "metrics":
                batch["metrics"] += self._metrics(event)
        _log_in_batches(client, run, tags=list(tags.values()), **batch)

    def _metrics(self, event: Event) -> list[Metric]:
        at, step = event["at"], event["step"] or 0
        return [
            self._models.metric(event["run"], name, value, at, step)
            for name, value in event["values"].items()
        ]

    def _open(self, client: MlflowClient, event: Event) -> None:
        """Create the run of an event, or find the one that an earlier try created."""
        identity = self._identity(event["run"])
        tags = {IDENTITY: identity, "job": self._journal.events[0]["job"]}
        if event["do"] == "start":
            self._state.experiment = experiment_id(client, event["job"])
        else:
            tags[_PARENT] = self._state.runs[event["parent"]]
        experiment = self._state.experiment
        found = client.search_runs([experiment], f"tags.`{IDENTITY}` = '{identity}'", max_results=1)
        if found:
            run = found[0]
            client.update_run(run.info.run_id, status="RUNNING")
            if event["do"] == "child":  # its parent may be a new run, in place of a deleted one
                client.set_tag(run.info.run_id, _PARENT, tags[_PARENT])
        else:
            run = client.create_run(experiment, event["at"], tags, run_name=event["name"])
        self._state.runs[event["run"]] = str(run.info.run_id)
        self.close()


def _tags(event: Event) -> dict[str, RunTag]:
    """The tags of an event by name; a description is one, too."""
    from mlflow.entities import RunTag

    if event["do"] == "describe":
        return {NOTE: RunTag(NOTE, event["text"][:_LONGEST_NOTE])}
    return {name: RunTag(name, value[:_LONGEST_TAG]) for name, value in event["values"].items()}


def _params(event: Event) -> list[Param]:
    from mlflow.entities import Param

    return [Param(name, value[:_LONGEST_PARAM]) for name, value in event["values"].items()]


def _log_in_batches(client: MlflowClient, run: str, **given: list[Any]) -> None:
    """Log `tags`, `params` and `metrics`, as many at once as a store takes."""
    for start in range(0, max(map(len, given.values())), _BATCH):
        client.log_batch(
            run, **{what: items[start : start + _BATCH] for what, items in given.items()}
        )


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
