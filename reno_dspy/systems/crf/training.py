"""Train the CRF: gold annotations placed on their plain text, tokens labelled, one model file.

    reno train-crf --data train.jsonl --test test.jsonl --out runs/crf

The run directory holds `crf.crfsuite`, the model, and `crf.json`, its manifest: data digest, licences,
settings and, with `--test`, figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pycrfsuite
from pydantic import Field

from reno_dspy.base.config import Config, Free
from reno_dspy.base.errors import JobError
from reno_dspy.base.files import sha256_file, write_bytes, write_json
from reno_dspy.base.progress import Bar, bar
from reno_dspy.base.rundir import RunDir
from reno_dspy.base.tracker import Run
from reno_dspy.data.dataset import Dataset, Row
from reno_dspy.data.lessons import Lesson, lesson_of
from reno_dspy.data.options import StrictData
from reno_dspy.systems.bio import field_of, labels_of
from reno_dspy.systems.crf.features import features
from reno_dspy.systems.crf.model import Crf
from reno_dspy.systems.repair import as_read
from reno_dspy.systems.tokens import tokenize

MODEL = "crf.crfsuite"
MANIFEST = "crf.json"


class TrainCrfConfig(Config):
    """Options of `reno train-crf`."""

    data: str = Field(description="Pairs to train on: a data set directory, file or hub id.")
    split: str | None = Field(None, description="Split of --data.")
    test: str | None = Field(None, description="Pairs to measure the finished model on.")
    test_split: str | None = Field(None, description="Split of --test.")
    strict_data: Free[StrictData] = False
    out: Free[Path] = Field(description="Run directory.")
    limit: int | None = Field(None, gt=0, description="Train on that many pairs, drawn at random.")
    seed: int = Field(0, description="Seed of that draw.")
    iterations: int = Field(100, gt=0, description="Most iterations of L-BFGS.")
    l1: float = Field(0.1, ge=0, description="Weight of the L1 penalty (larger = smaller model).")
    l2: float = Field(0.3, ge=0, description="Weight of the L2 penalty.")
    min_count: int = Field(2, ge=1, description="Features seen less often are dropped.")
    min_spans: int = Field(60, ge=1, description="Fields annotated less often are not learnt.")


def train(
    data: Dataset,
    run_dir: RunDir,
    run: Run,
    config: TrainCrfConfig,
    measured: Callable[[Crf], Mapping[str, Any]] = lambda _: {},
) -> Path:
    """Train a model and write it with its manifest into `run_dir`; return the model's path.

    `measured` returns entries for the manifest about the finished model's quality. A finished model is not
    trained again, but it is logged: the run may have been killed before that. Raises JobError when no row
    of `data` can be used.
    """
    model = run_dir / MODEL
    run.data(data.ref(), "train")
    if not (run_dir / MANIFEST).exists():
        lessons = _lessons(data.rows)
        if not lessons:
            raise JobError(f"In no row of {data.path} can the fields be found in the plain text.")
        kept = _kept_fields(lessons, config.min_spans)
        _fit(lessons, kept, model, config)
        manifest = _manifest(data, lessons, kept, model, config) | dict(measured(Crf(model)))
        write_json(run_dir / MANIFEST, manifest)
    run.artifact(model)
    run.artifact(run_dir / MANIFEST)
    return model


def _lessons(rows: Sequence[Row]) -> list[Lesson]:
    """What the rows teach that can be used."""
    lessons = []
    with bar("Placing gold fields", len(rows)) as progress:
        for row in rows:
            progress.advance()
            lesson = lesson_of(row)
            if isinstance(lesson, Lesson) and lesson.spans:
                lessons.append(as_read(lesson))
    return lessons


def _kept_fields(lessons: Iterable[Lesson], min_spans: int) -> set[str]:
    counts = Counter(field_of(span) for lesson in lessons for span in lesson.spans)
    return {field for field, count in counts.items() if count >= min_spans}


def _fit(lessons: Sequence[Lesson], kept: set[str], model: Path, config: TrainCrfConfig) -> None:
    with bar("Training the CRF", config.iterations) as progress:
        trainer = _Trainer(progress)
        for lesson in lessons:
            tokens = tokenize(lesson.plaintext)
            trainer.append(features(tokens), labels_of(tokens, lesson.spans, kept))
        trainer.set_params(
            {
                "c1": config.l1,
                "c2": config.l2,
                "max_iterations": config.iterations,
                "feature.minfreq": config.min_count,
            }
        )
        temporary = model.with_name(f".{model.name}.tmp")
        trainer.train(str(temporary))
    write_bytes(model, temporary.read_bytes())
    temporary.unlink()


class _Trainer(pycrfsuite.Trainer):  # type: ignore[misc]
    """crfsuite's trainer, whose iterations move a progress bar."""

    # The base class is made by Cython and takes its arguments in `__new__`.
    def __new__(cls, progress: Bar) -> _Trainer:
        made: _Trainer = super().__new__(cls)
        return made

    def __init__(self, progress: Bar) -> None:
        super().__init__(verbose=False)
        self._progress = progress

    def message(self, message: str) -> None:
        """Read one line of crfsuite's log."""
        if self.logparser.feed(message) == "iteration":
            loss = self.logparser.last_iteration["loss"]
            self._progress.advance(note=f"loss {loss:,.0f}")


def _manifest(
    data: Dataset, lessons: Sequence[Lesson], kept: set[str], model: Path, config: TrainCrfConfig
) -> dict[str, Any]:
    cleaned: Counter[str] = Counter()
    for lesson in lessons:
        cleaned.update(lesson.cleaned)
    return {
        "model_sha256": sha256_file(model),
        "data": {"name": data.name, "digest": data.digest, "rows": len(data.rows)},
        "rows_without_lesson": len(data.rows) - len(lessons),
        "cleaned_values": dict(sorted(cleaned.items())),
        "sources": dict(Counter(row.source for row in data.rows).most_common()),
        "licences": dict(Counter(row.licence or "unknown" for row in data.rows).most_common()),
        "fields": sorted(kept),
        "settings": config.model_dump(include={"iterations", "l1", "l2", "min_count", "min_spans"}),
        "versions": {"python-crfsuite": version("python-crfsuite")},
    }
