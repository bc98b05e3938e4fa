"""Finding this project's runs in the store: by id, name or run directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from reno_dspy.base.errors import InputError
from tracking.sent import read_sent
from tracking.store import experiment_ids, public_uri, store_uri

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

_PAGE = 1000
_PARENT = "mlflow.parentRunId"
# The UI's menu for runs and models; its own default is the one for chat agents.
_TRAINING_VIEW = "workflowType=machine_learning"


def all_runs(
    client: MlflowClient, jobs: tuple[str, ...] = (), filter_string: str = ""
) -> list[Run]:
    """All runs of this project (or of `jobs`), newest first, nested ones included."""
    experiments = experiment_ids(client, jobs)
    runs: list[Run] = []
    token: str | None = None
    while experiments:
        page = client.search_runs(
            experiments,
            filter_string,
            max_results=_PAGE,
            order_by=["attributes.start_time DESC"],
            page_token=token,
        )
        runs.extend(page)
        token = page.token
        if not token:
            break
    return runs


def find_run(client: MlflowClient, name: str, job: str | None = None) -> Run:
    """The newest run with this id, beginning of an id, name, or run directory.

    Raises InputError that names the store and the command that lists its runs.
    """
    from mlflow.exceptions import MlflowException

    run_id = run_id_of(Path(name))
    if run_id is not None:
        name = run_id
    try:
        return client.get_run(name)
    except MlflowException:
        runs = all_runs(client, (job,) if job else ())
    for run in runs:
        if run.info.run_name == name or (len(name) >= 6 and run.info.run_id.startswith(name)):
            return run
    raise InputError(
        f"No run {name!r}: neither a run directory nor a run in {public_uri(store_uri())}. "
        "`reno runs list` shows what there is."
    )


def run_id_of(run_dir: Path) -> str | None:
    """The id that the current store gave to a run directory; None when it has none."""
    return read_sent(run_dir, store_uri()).runs.get("")


def link_of(run_dir: Path) -> str | None:
    """The address of a run directory's run inside the MLflow UI; None when it has none."""
    run = run_id_of(run_dir)
    return run and _link(read_sent(run_dir, store_uri()).experiment, run)


def is_nested(run: Run) -> bool:
    """Whether a run is a part of another one."""
    return _PARENT in run.data.tags


def run_link(run: Run) -> str:
    """The address of a run inside the MLflow UI."""
    return _link(run.info.experiment_id, run.info.run_id)


def _link(experiment: str, run: str) -> str:
    return f"#/experiments/{experiment}/runs/{run}"


def compare_link(runs: list[str], experiments: list[str]) -> str:
    """The address of the UI's own side-by-side view of runs."""
    return (
        f"#/compare-runs?runs={quote(json.dumps(runs, separators=(',', ':')))}"
        f"&experiments={quote(json.dumps(experiments, separators=(',', ':')))}"
    )


def ui_links(client: MlflowClient) -> dict[str, str]:
    """Where to look first in the UI: the latest comparison, and the latest evaluations side by side."""
    links = {}
    for experiment in experiment_ids(client, ("evaluate",)):
        links["Evaluations"] = f"#/experiments/{experiment}/runs?{_TRAINING_VIEW}"
    comparisons = all_runs(client, ("compare",))
    if comparisons:
        report = f"{run_link(comparisons[0])}/artifacts/comparison.html"
        links["Latest comparison"] = f"{report}?{_TRAINING_VIEW}"
    evaluations = [run for run in all_runs(client, ("evaluate",)) if not is_nested(run)]
    own = [run for run in evaluations if run.data.tags.get("published") != "true"]
    if len(own) > 1:
        ids = [run.info.run_id for run in own[:2]]
        side_by_side = compare_link(ids, [own[0].info.experiment_id])
        links["Last two, compared"] = f"{side_by_side}&{_TRAINING_VIEW}"
    return links
