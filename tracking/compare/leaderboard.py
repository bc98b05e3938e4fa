"""The best run of every system on one data set: ranked by MLflow's metrics, intervals from the reports.

reno leaderboard --published
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reno_dspy.base.errors import InputError
from reno_dspy.measure.files import REPORT
from reno_dspy.measure.measures import MEASURES
from reno_dspy.measure.result import OVERALL, Report, read_report
from tracking.artifacts import fetch
from tracking.compare.results import Result
from tracking.runs import all_runs, run_link

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient


@dataclass(frozen=True)
class Board:
    """The best run of every system, best first; `others` are the data sets that were not shown."""

    data: str
    digest: str
    profile: str
    rows: Sequence[Result]
    others: Sequence[str]


def leaderboard(
    client: MlflowClient,
    data: str | None = None,
    profile: str = "paper",
    metric: str = f"{MEASURES[0].metric}/{OVERALL}",
) -> Board:
    """Rank systems by one metric. `data` is a data set's name or (the beginning of) its digest.

    Without `data`, the data set of the newest evaluation is taken. Raises InputError where there is no
    finished evaluation of this data and profile.
    """
    query = "attributes.status = 'FINISHED'"
    runs = [run for run in all_runs(client, ("evaluate",), query) if _data_of(run)[1]]
    runs = [run for run in runs if run.data.tags.get("profile") == profile]
    chosen = [run for run in runs if data is None or _is_data(run, data)]
    if not chosen:
        known = ", ".join(sorted({_named(run) for run in runs})) or "none"
        raise InputError(
            f"No finished evaluation on {data or 'any data'} with profile {profile}. "
            f"Evaluated so far with it: {known}."
        )
    name, digest = _data_of(chosen[0])
    best = _best_by_system([run for run in chosen if _data_of(run)[1] == digest], metric)
    others = sorted({_named(run) for run in runs if _data_of(run)[1] != digest})
    return Board(name, digest, profile, [_result(client, run) for run in best], others)


def _result(client: MlflowClient, run: Run) -> Result:
    """The run's report, where the store has that file; otherwise what its metrics tell."""
    system = run.data.tags.get("system", str(run.info.run_name))
    report = _report(client, run) or Report.from_metrics(
        run.data.metrics,
        profile=run.data.tags.get("profile", ""),
        system=system,
        data=_data_of(run)[0],
        data_digest=_data_of(run)[1],
    )
    return Result(system, report, run_id=str(run.info.run_id), link=run_link(run))


def _report(client: MlflowClient, run: Run) -> Report | None:
    with tempfile.TemporaryDirectory(prefix="reno-leaderboard-") as folder:
        found = fetch(client, run, {REPORT}, Path(folder))
        return read_report(Path(folder)) if found else None


def _best_by_system(runs: Sequence[Run], metric: str) -> list[Run]:
    """The best run of each system, best first; the newest of equals. Runs without it come last."""
    best: dict[str, Run] = {}
    for run in sorted(runs, key=lambda run: -run.data.metrics.get(metric, -1.0)):
        best.setdefault(run.data.tags.get("system", ""), run)
    return list(best.values())


def _data_of(run: Run) -> tuple[str, str]:
    inputs = run.inputs.dataset_inputs if run.inputs else []
    return (inputs[0].dataset.name, inputs[0].dataset.digest) if inputs else ("", "")


def _is_data(run: Run, wanted: str) -> bool:
    name, digest = _data_of(run)
    return name == wanted or digest.startswith(wanted)


def _named(run: Run) -> str:
    name, digest = _data_of(run)
    return f"{name} ({digest[:12]})"
