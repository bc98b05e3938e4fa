"""A training job: its run directory, opened once, and its tracked run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from finetune.base import Base
from finetune.recipe import FinetuneConfig
from finetune.training.data import TrainingData
from finetune.training.processes import processes
from programs.prompts import Prompt
from reno_dspy.base.rundir import RunDir
from reno_dspy.base.tracker import Run, Tracker
from reno_dspy.data import lessons
from reno_dspy.systems.tagger.manifest import TaggerModel


@dataclass(frozen=True)
class Job:
    """What every part of a training needs: its options, base model, data and run directory."""

    config: FinetuneConfig
    base: Base
    data: TrainingData
    run_dir: RunDir


@contextmanager
def opened(
    config: FinetuneConfig,
    base: Base,
    data: TrainingData,
    *,
    prompt: Prompt | None = None,
    start: TaggerModel | None = None,
    fresh: bool,
) -> Iterator[Job]:
    """The job with its run directory. With several processes, the main one opens it first.

    `start` is the tagger that training goes on from. Raises InputError as `RunDir.open` does.
    """
    inputs = {
        "base_revision": base.revision,
        "data_digest": [data.train.digest, data.dev.digest if data.dev.rows else None],
        "lessons": lessons.VERSION,
    }
    if prompt:
        inputs["prompt_digest"] = prompt.digest
    if start:
        inputs["start_digest"] = start.manifest.digest
    here = processes()
    with ExitStack() as stack:
        run_dir = RunDir(config.out)
        if here.is_main_process:
            options = config.identity()
            run_dir = stack.enter_context(
                RunDir.open(config.out, "finetune", options, depends_on=inputs, fresh=fresh)
            )
        here.wait_for_everyone()
        yield Job(config, base, data, run_dir)


@contextmanager
def tracked(job: Job, tracker: Tracker, kind: str = "") -> Iterator[Run]:
    """The job's tracked run, with its base and data logged; `kind` is added to the run's name."""
    train, dev = job.data.train, job.data.dev
    name = f"{job.base.name}{kind} on {train.name}"
    options = job.config.identity()
    with tracker.start("finetune", name, run_dir=job.run_dir.path, config=options) as run:
        run.data(train.ref(), "train")
        if dev.rows:
            run.data(dev.ref(), "dev")
        run.tags({"base": job.base.name})
        yield run
