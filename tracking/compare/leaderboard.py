"""The best run of every system on one data set: ranked by MLflow's metrics, intervals from the reports.

reno leaderboard --published
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reno_dspy.base.errors import InputError
from reno_dspy.jats.citation import FIELDS
from reno_dspy.measure.job import REPORT
from tracking.compare.results import MEASURES, RECALL, Cell, Result, result_from_report
from tracking.runs import all_runs, run_link

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

OVERALL = "overall"


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
    measure: str = RECALL,
    field: str = OVERALL,
) -> Board:
    """Rank systems by one number. `data` is a data set's name or (the beginning of) its digest.

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
    metric = f"{measure.replace('_', '/')}/{field}"
    best = _best_by_system([run for run in chosen if _data_of(run)[1] == digest], metric)
    others = sorted({_named(run) for run in runs if _data_of(run)[1] != digest})
    rows = [_with_intervals(client, result_from_run(run)) for run in best]
    return Board(name, digest, profile, rows, others)


def result_from_run(run: Run) -> Result:
    """A run's metrics as a row of tables 1-4, without intervals: no metric holds those."""
    metrics: Mapping[str, float] = run.data.metrics
    name, digest = _data_of(run)
    measures = {
        measure: {
            field: Cell(metrics.get(f"{measure.replace('_', '/')}/{field}")) for field in FIELDS
        }
        for measure in MEASURES
    }
    return Result(
        label=run.data.tags.get("system", str(run.info.run_name)),
        system=run.data.tags.get("system", ""),
        n=int(metrics.get("n", 0)),
        valid_xml=Cell(metrics.get("valid_xml")),
        measures=measures,
        profile=run.data.tags.get("profile", ""),
        data=name,
        data_digest=digest,
        slices={},
        answers={},
        run_id=str(run.info.run_id),
        link=run_link(run),
    )


def _with_intervals(client: MlflowClient, row: Result) -> Result:
    """The row as the report of its run has it, where the store has that file."""
    from mlflow.exceptions import MlflowException

    with tempfile.TemporaryDirectory(prefix="reno-leaderboard-") as folder:
        try:
            path = client.download_artifacts(str(row.run_id), REPORT, folder)
            report = json.loads(Path(path).read_text(encoding="utf-8"))
        except (MlflowException, OSError):
            return row
    return replace(row, measures=result_from_report(report, row.label).measures)


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
