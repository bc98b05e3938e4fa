"""What the stages of one build share, and the two ways in which they go over its articles."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reno_dspy.base.engine import Engine, open_engine
from reno_dspy.base.failures import FailureBudget
from reno_dspy.base.files import digest_json, sha256_file
from reno_dspy.base.progress import bar
from reno_dspy.build.config import BuildConfig
from reno_dspy.build.lm_answers import LMStage
from reno_dspy.build.steps import Describer, Extractor
from reno_dspy.build.store import Done, Record, StageStore, fingerprint
from reno_dspy.data.corpus import Entry

# Part of every stage's fingerprint: raise it when the same input would give other rows.
VERSION = 6
Step = Callable[[Record], Record]
# What a stage counts, articles or pairs, when an LM gave no answer.
LM_FAILED = "the LM failed"


@dataclass(frozen=True)
class Build:
    """What the stages of one build share: options, articles, LM programs (None: rules), files."""

    config: BuildConfig
    entries: Sequence[Entry]
    store: StageStore
    extractor: Extractor | None = None
    describer: Describer | None = None

    @functools.cached_property
    def inputs(self) -> list[Record]:
        """The articles by content: what the first stage, and with it all others, depend on."""
        return [
            {
                "id": entry.id,
                "pdf": sha256_file(entry.pdf),
                "xml": sha256_file(entry.xml),
                "source": entry.source,
                "doi": entry.doi,
            }
            for entry in self.entries
        ]

    @functools.cached_property
    def engine(self) -> Engine:
        """Where the work is done."""
        return open_engine(self.config.engine, self.config.workers)

    def depends_on(self) -> Record:
        """What the rows depend on besides the options: the articles by content, the LM programs."""
        return {
            "articles": digest_json(self.inputs),
            "extractor": identity_of(self.config.extractor, self.extractor)["program"],
            "describer": identity_of(self.config.describer, self.describer)["program"],
        }


def mapped(build: Build, name: str, step: Step, rows: Iterable[Record]) -> Iterator[Record]:
    """`step` of each row (an article), in order, by the engine."""
    with bar(name, len(build.entries)) as progress:
        for record in build.engine.map(step, rows):
            progress.advance()
            yield record


def asked(
    build: Build,
    name: str,
    program: Extractor | Describer,
    who: Record,
    before: Done,
    step: Callable[[LMStage], Step],
) -> Iterator[Record]:
    """A step of each row by an LM. Its answers are expensive: they are kept, and read on resume."""
    key = fingerprint({"version": VERSION, "input": before.sha256, name: who})
    budget = FailureBudget(build.config.max_errors, before.tally.out, before.tally.unit_out)
    stage = LMStage(_answers(build, name), key, budget, getattr(program, "start", None))
    ids = [entry.id for entry in build.entries]
    return stage.records(step(stage), before.rows(), ids, build.config.concurrency)


def _answers(build: Build, name: str) -> Path:
    return build.store.folder / f"{name}.partial.jsonl"


def forget_answers(build: Build, done: Done) -> None:
    """Once a stage is whole. Where an LM failed on some, `--stage` then asks for those alone."""
    if not done.tally.also[LM_FAILED] + done.tally.dropped[LM_FAILED]:
        _answers(build, done.name).unlink(missing_ok=True)


def identity_of(name: str, program: Extractor | Describer | None) -> Record:
    """What a stage's rows depend on: the name, and for an LM program its model and prompt."""
    return {"name": name, "program": getattr(program, "identity", None)}
