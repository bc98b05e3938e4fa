"""Measure a system on a data set.

    reno evaluate --system embedded --data DATA --out runs/embedded

Answers are appended to `predictions.jsonl` as they come, so that a killed run resumes where it was. The
report is made from that file alone: scoring again asks nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from reno_dspy.base.config import Free
from reno_dspy.base.errors import InputError
from reno_dspy.base.failures import MAX_ERRORS, FailureBudget, MaxErrors
from reno_dspy.base.files import write_json, write_text
from reno_dspy.base.jsonl import JsonlLog
from reno_dspy.base.progress import bar
from reno_dspy.base.rundir import RunDir
from reno_dspy.base.tracker import Run, Tracker
from reno_dspy.data.dataset import Dataset, Row
from reno_dspy.data.options import StrictData
from reno_dspy.measure.fields import FIELD_SETS, Fields
from reno_dspy.measure.files import (
    CITATIONS,
    PREDICTIONS,
    PROMPT,
    RELIABILITY,
    REPORT,
    REVIEWS,
)
from reno_dspy.measure.reliability_plot import reliability_svg
from reno_dspy.measure.report import citation_table, describe, report_scores, score_records
from reno_dspy.measure.result import Report
from reno_dspy.measure.sessions import Sessions, session
from reno_dspy.systems import Completion, PromptedSystem, System
from reno_dspy.systems.asking import Meter, ask_system
from reno_dspy.systems.options import SystemOptions


class EvaluateConfig(SystemOptions):
    """Options of `reno evaluate`."""

    data: str = Field(description="Data set directory, file (JSONL, CSV, Parquet), or hub id.")
    out: Free[Path] = Field(description="Run directory; an unfinished run there is resumed.")
    split: str | None = Field(None, description="Split to measure on (a directory's: test).")
    limit: int | None = Field(None, ge=1, description="Measure on that many rows, drawn by --seed.")
    seed: int = Field(0, description="Seed of that draw; if given, also a language model's.")
    profile: Literal["paper", "normalized"] = Field("paper", description="Metric profile.")
    # Free, since another choice needs the same answers.
    fields: Free[Fields] = Field(
        "scored",
        description="Fields to compare: the paper's, or all elements and the publication type.",
    )
    # Free, since the digest of the data tells another gold.
    gold: Free[Path | None] = Field(
        None, description="Corrected gold (.jsonl) for some or all of the rows (`reno audit`)."
    )
    max_errors: MaxErrors = MAX_ERRORS
    strict_data: Free[StrictData] = False
    trace: Free[str | None] = Field(
        None,
        pattern=r"^(all|[1-9]\d*)$",
        description="MLflow traces of the first N answers, or all.",
    )

    @property
    def system_seed(self) -> int | None:
        """The seed, if it was given: not every endpoint takes one."""
        return self.seed if "seed" in self.model_fields_set else None


def evaluate(
    config: EvaluateConfig,
    system: System,
    dataset: Dataset,
    tracker: Tracker,
    *,
    fresh: bool = False,
) -> Report:
    """Run `system` over `dataset` into `config.out` and report.

    Raises InputError when the run directory holds another run or the data have no plain text,
    JobError when too many rows fail (`FailureBudget`); what was answered is kept.
    """
    _check_plaintext(dataset)
    options = config.identity()
    inputs = {"data_digest": dataset.digest, "system_identity": dict(system.identity())}
    name = f"{system.name} on {dataset.ref().name} ({len(dataset.rows)})"
    with (
        RunDir.open(
            config.out, "evaluate", options, depends_on=inputs, fresh=fresh, keep={REVIEWS}
        ) as run_dir,
        tracker.start("evaluate", name, run_dir=run_dir.path, config=options | inputs) as run,
    ):
        _log_inputs(run, config, system, dataset)
        _keep_prompt(system, run_dir / PROMPT, run)
        records = answer(system, dataset.rows, run_dir, config, run)
        scores = score_records(records, config.profile, FIELD_SETS[config.fields])
        report = report_scores(
            records, scores, config.profile, system=system.name, identity=dict(system.identity()),
            data=dataset.ref().name, data_digest=dataset.digest,
        )  # fmt: skip
        _write_results(run_dir, run, records, citation_table(records, scores), report)
    return report


def answer(
    system: System, rows: Sequence[Row], run_dir: RunDir, config: EvaluateConfig, run: Run
) -> list[dict[str, Any]]:
    """The answers to every row, in order: those kept that did not fail, and new ones of `system`."""
    log = run_dir.log(PREDICTIONS)
    done = _by_index(log)
    pending = [i for i in range(len(rows)) if i not in done or done[i]["error"] is not None]
    if pending:
        with session(run_dir, run) as sessions:
            _answer_pending(system, rows, pending, log, config, sessions)
    done = _by_index(log)
    return [done[i] for i in range(len(rows))]


def _by_index(log: JsonlLog) -> dict[int, dict[str, Any]]:
    """The last answer to every row that has one. Raises InputError for a log that is not ours."""
    records = log.read()
    if not all({"index", "error"} <= record.keys() for record in records):
        raise InputError(
            f"{log.path} has a line without `index` or `error`; no evaluation writes one. Remove that "
            "line, or start over with --fresh."
        )
    return {record["index"]: record for record in records}


def _answer_pending(
    system: System,
    rows: Sequence[Row],
    pending: Sequence[int],
    log: JsonlLog,
    config: EvaluateConfig,
    sessions: Sessions,
) -> None:
    budget = FailureBudget(config.max_errors, len(rows))
    title, done = f"evaluate {system.name}", len(rows) - len(pending)
    with log.appending() as out, bar(title, len(rows), done) as progress:
        meter = Meter(progress)

        def keep(index: int, completion: Completion) -> None:
            out.write(_record(index, rows[index], completion))
            budget.count(completion.error)
            meter.advance(completion)

        def text(index: int) -> str:
            return rows[index].plaintext or ""

        async def ask() -> None:
            sessions.trial(await system.start())
            await ask_system(
                system,
                pending,
                text,
                keep,
                budget,
                concurrency=config.concurrency,
                on_silence=progress.silent,
            )

        asyncio.run(ask())


def _record(index: int, row: Row, completion: Completion) -> dict[str, Any]:
    return {
        "index": index,
        "id": row.id,
        "plaintext": row.plaintext,
        "xml": row.xml,
        "prediction": completion.text,
        "error": completion.error,
        "finish_reason": completion.finish_reason,
        "prompt_tokens": completion.prompt_tokens,
        "completion_tokens": completion.completion_tokens,
        "latency_s": completion.latency_s,
        "cost": completion.cost,
        "confidence": None if completion.confidence is None else completion.confidence.whole,
        "source": row.source,
        "citing_article": row.cluster,
        "language": row.language,
        "publication_type": row.publication_type,
        "has_pid": row.has_pid,
    }


def _check_plaintext(dataset: Dataset) -> None:
    without = sum(not row.plaintext for row in dataset.rows)
    if without:
        raise InputError(
            f"{without} of {len(dataset.rows)} rows of {dataset.path} have no plain text to annotate."
        )


def _log_inputs(run: Run, config: EvaluateConfig, system: System, dataset: Dataset) -> None:
    identity = system.identity()
    uses = {f"uses.{key.removesuffix('_digest')}": identity[key] for key in _digests(identity)}
    run.tags({
        "system": system.name, "data": dataset.ref().name, "profile": config.profile,
        "uses.data": dataset.digest, **uses,
    })  # fmt: skip
    if dataset.left_out:
        run.tags({"data.left_out": f"{dataset.left_out} rows that cannot be used"})
    run.data(dataset.ref(), "test")


def _keep_prompt(system: System, path: Path, run: Run) -> None:
    if isinstance(system, PromptedSystem):
        write_text(path, system.prompt_text())
        run.artifact(path)


def _digests(identity: Any) -> Iterator[str]:
    return (key for key in identity if key.endswith("_digest"))


def _write_results(
    run_dir: RunDir, run: Run, records: Sequence[dict[str, Any]], table: str, report: Report
) -> None:
    """Write and log the results; report.json comes last, for it marks the run as finished."""
    JsonlLog(run_dir / PREDICTIONS).replace(records)
    write_text(run_dir / CITATIONS, table)
    if report.reliability is not None:
        write_text(run_dir / RELIABILITY, reliability_svg(report.reliability))
        run.artifact(run_dir / RELIABILITY)
    write_json(run_dir / REPORT, report.to_json())
    run.metrics(report.to_metrics())
    for name in (PREDICTIONS, CITATIONS, REPORT):
        run.artifact(run_dir / name)
    run.describe(describe(report))
