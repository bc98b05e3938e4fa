"""One trace a reference: what was asked, what came back, which fields were hit.

    reno runs trace RUN_DIR --count 20

Traces are written from the stored predictions when a run is done, by one thread and with the run's id:
they cannot land on another run, and their number is what was asked for.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reno_dspy.base.errors import InputError, JobError, RenoError
from reno_dspy.base.jsonl import JsonlLog
from reno_dspy.base.progress import bar
from reno_dspy.base.rundir import read_config
from reno_dspy.measure.files import PREDICTIONS
from reno_dspy.measure.metric import PROFILES, CitationScore, compare
from tracking.runs import run_id_of
from tracking.store import as_mlflows_own, cannot_reach, open_existing, store_uri

ROW = "reno.row"
# Reference -> the messages that the LM was asked with.
Render = Callable[[str], Sequence[Mapping[str, Any]]]


def log_traces(run_dir: Path, count: int | None, render: Render | None = None) -> int:
    """Write traces of the first `count` references (None: all) of a tracked evaluation.

    `render` gives the prompt of a reference, where it is known. What is traced already is left out;
    returns how many were written. Raises InputError for a directory that is no evaluation in the store,
    JobError when the store fails.
    """
    run_id = run_id_of(run_dir)
    records = JsonlLog(run_dir / PREDICTIONS).read()
    if not records:
        raise InputError(f"{run_dir} holds no evaluation (no {PREDICTIONS}).")
    if run_id is None:
        raise InputError(
            f"{run_dir} is not in this MLflow store: `reno runs log {run_dir}` writes it there, then "
            f"`reno runs trace {run_dir}` its traces."
        )
    try:
        return _log_traces(run_dir, run_id, records[:count], render)
    except RenoError:
        raise
    except Exception as error:  # an MLflow store fails in many ways; to the user they are one
        raise JobError(f"{cannot_reach(store_uri(), error)} Try again when it is back.") from error


def _log_traces(
    run_dir: Path, run_id: str, records: Sequence[Mapping[str, Any]], render: Render | None
) -> int:
    profile = str(read_config(run_dir)["config"].get("profile", "paper"))
    experiment = str(open_existing().get_run(run_id).info.experiment_id)
    done = _traced(experiment, run_id)
    pending = [record for record in records if record["index"] not in done]
    os.environ["MLFLOW_ENABLE_ASYNC_TRACE_LOGGING"] = "false"  # a lost trace must not go unseen
    with as_mlflows_own(), bar("traces", len(pending)) as progress:
        for record in pending:
            _write(record, profile, experiment, run_id, render)
            progress.advance()
    return len(pending)


def _traced(experiment: str, run_id: str) -> set[int]:
    """The rows of a run that have a trace."""
    client = open_existing()
    rows: set[int] = set()
    token: str | None = None
    while True:
        page = client.search_traces(
            locations=[experiment],
            run_id=run_id,
            max_results=500,
            page_token=token,
            include_spans=False,
        )
        rows |= {int(trace.info.tags[ROW]) for trace in page if ROW in trace.info.tags}
        token = page.token
        if not token:
            return rows


def _write(
    record: Mapping[str, Any], profile: str, experiment: str, run_id: str, render: Render | None
) -> None:
    import mlflow
    from mlflow.entities import NoOpSpan

    reference = str(record.get("plaintext") or "")
    seconds = record.get("latency_s") or 0.0
    end = time.time_ns()
    start = end - int(seconds * 1e9)
    span = mlflow.start_span_no_context(
        "annotate",
        span_type="LLM",
        inputs={
            "reference": reference,
            **({"messages": list(render(reference))} if render else {}),
        },
        attributes=_attributes(record),
        tags={ROW: str(record["index"])},
        metadata={"mlflow.sourceRun": run_id},
        experiment_id=experiment,
        start_time_ns=start,
    )
    if isinstance(span, NoOpSpan):
        raise JobError("MLflow started no trace; what it said above is the reason.")
    score = compare(record["xml"], record["prediction"] or "", PROFILES[profile], reference)
    span.end(
        outputs={
            "completion": record["prediction"],
            "gold": record["xml"],
            "fields": field_hits(score),
            "valid_xml": score.well_formed,
        },
        status="ERROR" if record.get("error") else "OK",
        end_time_ns=end,
    )


def _attributes(record: Mapping[str, Any]) -> dict[str, Any]:
    names = ("error", "finish_reason", "prompt_tokens", "completion_tokens", "source", "language")
    return {name: record[name] for name in names if record.get(name) is not None}


def field_hits(score: CitationScore) -> dict[str, str]:
    """Per field `hits/gold`, with what was missed and wrong; fields that nobody has are left out."""
    shown = {}
    for name, field in score.fields.items():
        if field.gold or field.pred:
            missed = "".join(f"; missed {value!r}" for value in field.missed)
            wrong = "".join(f"; wrong {value!r}" for value in field.wrong)
            shown[name] = f"{field.lenient}/{field.gold}{missed}{wrong}"
    return shown
