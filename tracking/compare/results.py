"""Evaluation results to compare: read from run directories, MLflow runs and the published tables."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reno_dspy.base.errors import InputError
from reno_dspy.base.jsonl import JsonlLog
from reno_dspy.jats.citation import FIELDS
from reno_dspy.measure.job import PREDICTIONS, REPORT
from tracking.compare import published
from tracking.runs import find_run, link_of, run_id_of, run_link
from tracking.store import open_existing

# The paper's tables 1 to 4, by the names that report.json uses.
MEASURES: Mapping[str, str] = {
    "recall_lenient": "Table 1: Recall",
    "precision_lenient": "Table 2: Precision",
    "recall_strict": "Table 3: Recall (strict)",
    "precision_strict": "Table 4: Precision (strict)",
}
# Beyond the paper: precision over citations whose gold has the field at all.
RESTRICTED = {"precision_restricted": "Precision where the gold has the field (not in the paper)"}
# Of all answers: shares in percent, then counts.
SHARES = {"fidelity": "Text kept", "all_authors": "All authors right"}
COUNTS = {"errors": "Failed", "truncated": "Truncated"}
RECALL, RECALL_STRICT = "recall_lenient", "recall_strict"


@dataclass(frozen=True)
class Cell:
    """A number in percent with its 95% interval; None where undefined (0/0) or not known."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Slice:
    """One part of the data: its name, how many references, lenient recall by field."""

    name: str
    n: int
    recall: Mapping[str, Cell]


@dataclass(frozen=True)
class Result:
    """One evaluated system: a row of tables 1-4. `measures`: measure -> field -> cell."""

    label: str
    system: str
    n: int
    valid_xml: Cell
    measures: Mapping[str, Mapping[str, Cell]]
    profile: str
    data: str
    data_digest: str
    slices: Mapping[str, Sequence[Slice]]
    answers: Mapping[str, float | None]
    predictions: Sequence[Mapping[str, Any]] | None = None
    run_id: str | None = None
    link: str | None = None
    published: bool = False


def load_results(names: Sequence[str]) -> list[Result]:
    """Results by run directory, MLflow run id or run name; equal labels are made different.

    Raises InputError for what is none of these, and for a run that is no evaluation.
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
    return [_published(row) for row in published.published_rows()]


def check_comparable(results: Sequence[Result]) -> None:
    """Raise InputError where data sets or metric profiles differ."""
    for what, values in (
        ("data sets", {result.label: f"{result.data} {result.data_digest}" for result in results}),
        ("metric profiles", {result.label: result.profile for result in results}),
    ):
        if len(set(values.values())) > 1:
            lines = "\n".join(f"  {label}: {value}" for label, value in values.items())
            raise InputError(
                f"These runs have different {what}, so their numbers do not compare:\n{lines}\n"
                "Choose runs of one, or say --allow-different."
            )


def _load(name: str) -> Result:
    folder = Path(name)
    if folder.exists() or "/" in name:
        if not (folder / REPORT).is_file():
            raise InputError(f"{folder} has no {REPORT}: it is no finished evaluation.")
        return _from_folder(folder, folder.name, run_id_of(folder), link_of(folder))
    client = open_existing()
    run = find_run(client, name, job="evaluate")
    names = {item.path for item in client.list_artifacts(run.info.run_id)}
    if REPORT not in names:
        raise InputError(f"Run {name} has no {REPORT}: it is no finished evaluation.")
    with tempfile.TemporaryDirectory(prefix="reno-compare-") as kept:
        for wanted in names & {REPORT, PREDICTIONS}:
            client.download_artifacts(run.info.run_id, wanted, kept)
        return _from_folder(Path(kept), run.info.run_name, run.info.run_id, run_link(run))


def _from_folder(folder: Path, name: str, run_id: str | None, link: str | None) -> Result:
    try:
        report = json.loads((folder / REPORT).read_text(encoding="utf-8"))
        result = result_from_report(report, name)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{folder / REPORT} is not a report of `reno evaluate`: {error!r}"
        ) from error
    predictions = JsonlLog(folder / PREDICTIONS).read() or None
    return replace(result, predictions=predictions, run_id=run_id, link=link)


def result_from_report(report: Mapping[str, Any], name: str) -> Result:
    """The row of a report.json; raises KeyError or TypeError where it is no such report."""
    system = str(report["system"] or name)
    return Result(
        label=system,
        system=system,
        n=int(report["n"]),
        valid_xml=Cell(report["valid_xml"]),
        measures={
            measure: _cells(report["fields"], measure) for measure in (*MEASURES, *RESTRICTED)
        },
        profile=str(report["profile"]),
        data=str(report["data"]),
        data_digest=str(report["data_digest"]),
        slices={by: _slices(parts) for by, parts in report["slices"].items()},
        answers={
            "overall": report["overall"][RECALL],
            **{name: report[name] for name in (*SHARES, *COUNTS)},
        },
    )


def _cells(fields: Mapping[str, Any], measure: str) -> dict[str, Cell]:
    return {name: _cell(fields[name], measure) for name in FIELDS}


def _cell(field: Mapping[str, Any], measure: str) -> Cell:
    low, high = field["intervals"][measure] or (None, None)
    return Cell(field[measure], low, high)


def _slices(parts: Mapping[str, Any]) -> list[Slice]:
    return [Slice(name, int(part["n"]), _slice_cells(part)) for name, part in parts.items()]


def _slice_cells(part: Mapping[str, Any]) -> dict[str, Cell]:
    ends = part["intervals"]
    return {
        field: Cell(value, *(ends[field] or ())) for field, value in part["recall_lenient"].items()
    }


def _published(row: published.PublishedRow) -> Result:
    measures = {
        measure: {field: Cell(value) for field, value in getattr(row, measure).items()}
        for measure in MEASURES
    }
    return Result(
        label=row.model,
        system=row.model,
        n=published.PUBLISHED_N,
        valid_xml=Cell(row.valid_xml),
        measures=measures,
        profile="paper",
        data=published.DATA,
        data_digest="published",
        slices={},
        answers={},
        published=True,
    )
