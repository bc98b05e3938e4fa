"""Evaluations to compare: read from run directories, from MLflow runs and from the paper's tables."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reno_dspy.base.errors import InputError
from reno_dspy.base.rundir import CONFIG
from reno_dspy.base.secrets import redact
from reno_dspy.jats.elements import PAPER_COLUMNS
from reno_dspy.measure.files import PREDICTIONS, PROMPT, REPORT
from reno_dspy.measure.records import read_predictions
from reno_dspy.measure.result import Report, read_report
from tracking.artifacts import fetch
from tracking.compare import published
from tracking.journal import flatten
from tracking.runs import find_run, link_of, run_id_of, run_link
from tracking.store import open_existing

_FILES = {REPORT, PREDICTIONS, PROMPT, CONFIG}


@dataclass(frozen=True)
class Result:
    """One evaluated system, a row of the tables: its report and, where they are kept, its answers.

    `options` are what the run's results depend on (options, data, the system's identity), as text;
    `prompt` is the text that a language model was given.
    """

    label: str
    report: Report
    predictions: Sequence[Mapping[str, Any]] | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    prompt: str | None = None
    run_id: str | None = None
    link: str | None = None
    published: bool = False


def load_results(names: Sequence[str]) -> list[Result]:
    """Results by run directory, MLflow run id or run name; equal labels are made different.

    Raises InputError for any other name, and for a run that is not a finished evaluation.
    """
    results = [_load(name) for name in names]
    labels = [result.label for result in results]
    return [
        result
        if labels.count(result.label) == 1
        else replace(result, label=f"{result.label} ({name})")
        for result, name in zip(results, names, strict=True)
    ]


def published_results() -> list[Result]:
    """The paper's rows, as results on the paper's data set."""
    return [
        Result(str(report.system), report, published=True)
        for report in published.published_reports()
    ]


def other_fields(results: Sequence[Result]) -> list[str]:
    """Fields beyond the paper's columns that some run found in gold or answers."""
    found = {
        name: None
        for result in results
        for name, one in result.report.fields.items()
        if name not in PAPER_COLUMNS and (one.counts.get("gold") or one.counts.get("pred"))
    }
    return list(found)


def check_comparable(results: Sequence[Result]) -> None:
    """Raise InputError where data sets or metric profiles differ."""
    reports = {result.label: result.report for result in results}
    for what, values in (
        ("data sets", {label: f"{one.data} {one.data_digest}" for label, one in reports.items()}),
        ("metric profiles", {label: one.profile for label, one in reports.items()}),
    ):
        if len(set(values.values())) > 1:
            lines = "\n".join(f"  {label}: {value}" for label, value in values.items())
            raise InputError(
                f"These runs have different {what}, so their numbers do not compare:\n{lines}\n"
                "Choose runs of one, or say --allow-different."
            )


def _load(name: str) -> Result:
    folder = Path(name)
    if (folder / REPORT).is_file():
        return _from_folder(folder, folder.name, run_id_of(folder), link_of(folder))
    try:
        client = open_existing()
        run = find_run(client, name, job="evaluate")
    except InputError as error:
        # An unfinished evaluation, or a folder of something else.
        if folder.is_dir():
            read_report(folder)
        raise InputError(f"{name} is not the directory of an evaluation here. {error}") from error
    with tempfile.TemporaryDirectory(prefix="reno-compare-") as kept:
        if REPORT not in fetch(client, run, _FILES, Path(kept)):
            raise InputError(
                f"Run {name} has no {REPORT} in {run.info.artifact_uri}: it is not a finished "
                "evaluation, or its files were moved. Name its run directory instead."
            )
        return _from_folder(Path(kept), str(run.info.run_name), run.info.run_id, run_link(run))


def _from_folder(folder: Path, name: str, run_id: str | None, link: str | None) -> Result:
    report = read_report(folder)
    prompt = folder / PROMPT
    return Result(
        report.system or name,
        report,
        predictions=read_predictions(folder) if (folder / PREDICTIONS).is_file() else None,
        options=_options(folder / CONFIG) or dict(report.identity),
        prompt=prompt.read_text(encoding="utf-8") if prompt.is_file() else None,
        run_id=run_id,
        link=link,
    )


def _options(path: Path) -> dict[str, str]:
    """What a run depends on, from its directory or its run in MLflow, which keeps it flat."""
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if "config" in config:
        config = config["config"] | config.get("depends_on", {})
    identity = config.pop("system_identity", {})
    # The identity has the values of options that were left open (such as the prompt's name).
    return flatten(redact(config | identity))
