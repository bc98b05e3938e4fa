"""reno-dspy from Python: what `import reno_dspy as reno` offers.

    import reno_dspy as reno

    for found in reno.annotate(["Ito K. Foxes. J Fict Zool. 2010;12(3):200-9."], system="crf"):
        print(found.xml)

Every function does what the command of its name does, and raises the same errors (`InputError`,
`JobError`). All of them also work where an event loop runs, such as in a notebook.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack

from reno_dspy.annotate.job import AnnotateConfig
from reno_dspy.annotate.job import annotate as annotate_into
from reno_dspy.base.config import resolve
from reno_dspy.base.engine import EngineName
from reno_dspy.base.errors import InputError as InputError
from reno_dspy.base.errors import JobError as JobError
from reno_dspy.base.errors import RenoError as RenoError
from reno_dspy.base.extras import require
from reno_dspy.base.progress import no_bars
from reno_dspy.jats.citation import read as read
from reno_dspy.systems import Constrain, System, ValueJson
from reno_dspy.systems.options import SystemOptions
from reno_dspy.systems.registry import open_system

if TYPE_CHECKING:
    from reno_dspy.base.tracker import Tracker
    from reno_dspy.data.dataset import Dataset, Row
    from reno_dspy.measure.result import Report
    from tracking.compare.paired import Comparison

Result = TypeVar("Result")
Profile = Literal["paper", "normalized"]


@dataclass(frozen=True)
class Annotation:
    """A reference and its annotation; `xml` is None where `error` says why there is none.

    `confidence` is the probability that every scored field is right, None where the system knows none;
    `values` has a field, value and confidence for each value of the annotation.
    """

    reference: str
    xml: str | None
    error: str | None
    confidence: float | None = None
    values: tuple[ValueJson, ...] = ()


class OptionsOfSystems(TypedDict, total=False):
    """Options that systems take, as on the command line (`reno annotate --help`)."""

    prompt: str
    adapter: str | Path
    api_base: str
    max_tokens: int
    constrain: Constrain
    concurrency: int
    workers: int
    engine: EngineName


def annotate(
    texts: Iterable[str],
    system: str | System = "tagger",
    *,
    progress: bool = False,
    **options: Unpack[OptionsOfSystems],
) -> list[Annotation]:
    """Annotate references: one `Annotation` for each of `texts`, in their order.

    `system` is a name or file that `reno annotate --system` takes, or an object of your own with the
    methods of `reno_dspy.systems.System`. A reference that cannot be annotated has an `error`; the
    others go on. `progress` shows a bar on standard error.
    Raises InputError for an unknown system or a wrong option, JobError when the system does not start.
    """
    if isinstance(texts, str):
        raise InputError("annotate takes a list of references, not one text.")
    references = list(texts)
    with tempfile.TemporaryDirectory(prefix="reno-") as folder:
        given = {
            "input": "-",
            "out": Path(folder) / "answers",
            "format": "jsonl",
            "max_errors": 1.0,
        }
        config = resolve(AnnotateConfig, flags=given | {"system": _name(system)} | options)

        def job() -> None:
            with _opened(system, config, Path(folder) / "server.log") as opened:
                annotate_into(config, opened, references, total=len(references))

        _run(job, progress)
        return list(_annotations(config.out))


def load(
    data: str | Path,
    split: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    *,
    strict: bool = False,
) -> Dataset:
    """Load pairs of plain text and JATS: whatever `--data` takes (a directory, a file, a hub id).

    `split` names one of several parts; `limit` draws that many rows at random by `seed`. The result's
    `rows` have `plaintext`, `xml`, `source` and more (`reno_dspy.Row`); rows that cannot be used are left
    out (`left_out` counts them) or, if `strict`, refused.
    Raises InputError for anything missing, empty or in another form.
    """
    from reno_dspy.data import dataset

    return dataset.load(str(data), split, limit, seed, strict=strict)


def score(
    gold: Dataset | Sequence[Row] | Sequence[str],
    predictions: Sequence[str | Annotation | None],
    *,
    profile: Profile = "paper",
) -> Report:
    """Score `predictions` (XML as a system wrote it, None for nothing) against `gold`, pair by pair.

    Gold is a data set, its rows, or XML alone (then fidelity, which needs the plain text, is undefined).
    Raises InputError when their numbers differ.
    """
    from reno_dspy.data.dataset import Dataset
    from reno_dspy.measure.report import make_report

    rows: Sequence[Row | str] = gold.rows if isinstance(gold, Dataset) else gold
    if len(rows) != len(predictions):
        raise InputError(f"{len(predictions)} predictions for {len(rows)} annotations of the gold.")
    records = [
        _gold_record(row) | {"prediction": found.xml if isinstance(found, Annotation) else found}
        for row, found in zip(rows, predictions, strict=True)
    ]
    return make_report(records, profile)


def evaluate(
    system: str | System,
    data: str | Path | Dataset,
    *,
    out: str | Path | None = None,
    split: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    profile: Profile = "paper",
    track: bool = False,
    fresh: bool = False,
    progress: bool = False,
    **options: Unpack[OptionsOfSystems],
) -> Report:
    """Measure a system on a data set, as `reno evaluate` does.

    `out` is the run directory, in which an unfinished evaluation resumes (`fresh` starts over); without
    one nothing but the report is kept. `track` logs the run to MLflow. `system`, `options` and
    `progress` are those of `annotate`; `data`, `split`, `limit` and `seed` those of `load`.
    Raises InputError as these do, JobError when too many references fail.
    """
    from reno_dspy.data.dataset import Dataset
    from reno_dspy.measure import job

    dataset = data if isinstance(data, Dataset) else load(data, split, limit, seed)
    with nullcontext(out) if out else tempfile.TemporaryDirectory(prefix="reno-") as chosen:
        folder = Path(chosen)
        given = {"data": dataset.path, "out": folder, "split": dataset.split, "profile": profile}
        drawn = {"limit": limit, "seed": seed, "system": _name(system)}
        config = resolve(job.EvaluateConfig, flags=given | drawn | options)

        def measured() -> Report:
            with _opened(system, config, folder / "server.log") as opened:
                return job.evaluate(config, opened, dataset, _tracker(track), fresh=fresh)

        return _run(measured, progress)


def compare(
    baseline: str | Path, *runs: str | Path, allow_different: bool = False
) -> list[Comparison]:
    """Compare evaluations with a baseline: for each of `runs`, the paired differences by field.

    Runs are run directories or, in the MLflow store, ids or names. Raises InputError for what is no
    evaluation, and for different data sets or metric profiles unless `allow_different`.
    """
    from tracking.compare.paired import compare_with_first
    from tracking.compare.results import check_comparable, load_results

    results = load_results([str(run) for run in (baseline, *runs)])
    if not allow_different:
        check_comparable(results)
    return compare_with_first(results)


def _name(system: str | System) -> str:
    return system if isinstance(system, str) else system.name


@contextmanager
def _opened(system: str | System, options: SystemOptions, log: Path) -> Iterator[System]:
    if isinstance(system, str):
        with open_system(options, log) as opened:
            yield opened
    elif options.on_workers:
        raise InputError(
            "workers and engine need a system's name: an object cannot be opened again."
        )
    else:
        yield system


def _annotations(answers: Path) -> Iterator[Annotation]:
    with open(answers, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            values = tuple(row["values"] or ())
            yield Annotation(
                row["reference"], row["annotation"], row["error"], row["confidence"], values
            )


def _gold_record(row: Row | str) -> dict[str, Any]:
    if isinstance(row, str):
        return {"xml": row}
    return {
        "xml": row.xml,
        "plaintext": row.plaintext,
        "citing_article": row.cluster,
        "source": row.source,
        "language": row.language,
        "publication_type": row.publication_type,
        "has_pid": row.has_pid,
    }


def _tracker(track: bool) -> Tracker:
    if not track:
        from tracking.journal import JournalTracker

        return JournalTracker()
    require("track", "track=True")
    from tracking.mlflow_tracker import MlflowTracker

    return MlflowTracker()


def _run(job: Callable[[], Result], progress: bool) -> Result:
    """Run a job that has an event loop of its own; in a thread of its own where one runs here."""
    with nullcontext() if progress else no_bars():
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return job()
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(copy_context().run, job).result()
