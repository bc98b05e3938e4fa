"""Adapters as MLflow's logged models, so that a score is tied to weights and data.

A run that says `makes.adapter` gives a model, one that says `uses.adapter` takes it, and the metrics of the
latter are the model's on its data set. A model is known by the digest of its weights, whatever run, name
or directory it had; one that was trained elsewhere is entered when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracking.store import experiment_ids

if TYPE_CHECKING:
    from mlflow.entities import Metric
    from mlflow.tracking import MlflowClient

MAKES, USES = "makes.adapter", "uses.adapter"
_DIGEST = "digest"
_TYPE = "lora-adapter"
_LONGEST_DIGEST = 36  # what MLflow takes for a data set

Event = dict[str, Any]


class Models:
    """Which adapter and which data each run of one journal uses; entered into the store when met."""

    def __init__(self, events: list[Event]) -> None:
        self._used: dict[str, str] = {}
        self._data: dict[str, tuple[str, str]] = {}
        self._ids: dict[str, str] = {}
        for event in events:
            self._note(event)

    def follow(self, client: MlflowClient, run: str, experiment: str, event: Event) -> None:
        """Take notice of a `tags` or `data` event of `run`; make or take the model that it names."""
        self._note(event)
        tags = event["values"] if event["do"] == "tags" else {}
        if MAKES in tags:
            from mlflow.entities import LoggedModelOutput

            model = self._model(client, tags[MAKES], experiment, run)
            client.log_outputs(run, [LoggedModelOutput(model, step=0)])
        if USES in tags:
            from mlflow.entities import LoggedModelInput

            model = self._model(client, tags[USES], experiment, None)
            client.log_inputs(run, models=[LoggedModelInput(model)])

    def metric(self, key: str, name: str, value: float, at: int, step: int) -> Metric:
        """A metric of the run `key`, tied to its adapter and data where it has both."""
        from mlflow.entities import Metric

        model = self._ids.get(self._used.get(key, ""))
        data = self._data.get(key)
        if model is None or data is None:
            return Metric(name, value, at, step)
        return Metric(name, value, at, step, model, *data)

    def _note(self, event: Event) -> None:
        if event["do"] == "tags" and USES in event["values"]:
            self._used[event["run"]] = event["values"][USES]
        if event["do"] == "data":
            self._data[event["run"]] = (event["name"], event["digest"][:_LONGEST_DIGEST])

    def _model(self, client: MlflowClient, digest: str, experiment: str, source: str | None) -> str:
        """The id of the model with this digest, created when the store has none."""
        if digest not in self._ids:
            query = f"tags.{_DIGEST} = '{digest}'"
            found = client.search_logged_models(experiment_ids(client), query)
            self._ids[digest] = found[0].model_id if found else _create(
                client, digest, experiment, source
            )  # fmt: skip
        return self._ids[digest]


def _create(client: MlflowClient, digest: str, experiment: str, source: str | None) -> str:
    model = client.create_logged_model(
        experiment,
        name=f"adapter-{digest}",
        source_run_id=source,
        tags={_DIGEST: digest},
        model_type=_TYPE,
    )
    client.finalize_logged_model(model.model_id, "READY")
    return str(model.model_id)
