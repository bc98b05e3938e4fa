"""`reno optimize`: find better instructions with GEPA."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from programs.config import JOBS, LMSpec, OptimizeConfig
from reno_dspy.base.errors import InputError, JobError
from reno_dspy.cli.options import job_options

if TYPE_CHECKING:
    from programs.optimize.candidates import OptimizeResult
    from programs.optimize.subsets import Sample
    from programs.prompts import Prompt
    from reno_dspy.base.rundir import RunDir
    from reno_dspy.base.tracker import Run, Tracker


@dataclass(frozen=True)
class _Plan:
    """What a job works on; `lms` are the student and the reflection LM."""

    config: OptimizeConfig
    prompt: Prompt
    train: Sample
    dev: Sample
    lms: tuple[LMSpec, LMSpec]


@click.command("optimize")
@job_options(OptimizeConfig, recipes=JOBS)
def command(config: OptimizeConfig, *, fresh: bool, tracking: bool) -> None:
    """Find better instructions for a system with GEPA, on the splits train and dev.

    RECIPE is one that ships (`embedded`, `light`, `thorough`) or a YAML file. Writes prompt.json,
    which `reno evaluate --prompt` takes, candidates.json and report.md to OUT; running the same
    command again resumes, and no answer of the student is paid twice.
    """
    from programs import prompts
    from programs.optimize.budget import plan_job
    from programs.optimize.candidates import write_report
    from programs.optimize.fingerprint import inputs_of
    from programs.optimize.job import finished, task_of
    from programs.optimize.on_test import measure_on_test
    from reno_dspy.base.rundir import RunDir
    from reno_dspy.cli.prompts import local_prompt
    from reno_dspy.cli.tracking import open_tracker

    if config.final:
        _check_final(config)
    with local_prompt(config.prompt) as name:
        prompt = prompts.load(name or config.prompt)
    train, dev = _samples(config)
    click.echo(f"Budget: {plan_job(config, len(dev.items))}.", err=True)
    lms = choose_lms(config, _student(config))
    job = _Plan(config, prompt, train, dev, lms)
    inputs = inputs_of(task_of(config), prompt, train.items, dev.items, *lms)
    tracker = open_tracker(tracking)
    with RunDir.open(
        config.out, "optimize", config.identity(), depends_on=inputs, fresh=fresh
    ) as run_dir:
        result = finished(run_dir)
        if result is not None:
            _complete(job, result, run_dir, tracker)
        if result is None or config.final:
            with _served(config, lms) as served:
                if result is None:
                    result = _search(replace(job, lms=served), run_dir, tracker)
                if config.final:
                    measure_on_test(result, config, served[0], tracker)
    click.echo(write_report(result), nl=False)
    if config.final:
        click.echo((run_dir / "final.md").read_text(encoding="utf-8"), nl=False)
    click.echo(f"Written to {config.out} (prompt.json, candidates.json, report.md).", err=True)


def _check_final(config: OptimizeConfig) -> None:
    from reno_dspy.data.dataset import splits_of

    if "test" not in splits_of(config.data):
        raise InputError(f"--final measures on the split test, but {config.data} has none.")


def _samples(config: OptimizeConfig) -> tuple[Sample, Sample]:
    """The items of train and of dev that the job works on; `test` is not opened."""
    if config.program == "extract":
        from programs.optimize.chunks import load_chunks

        sizes = {"train": config.train_size, "dev": config.dev_size}
        train, dev = (load_chunks(config.data, *one, config.seed) for one in sizes.items())
        return train, dev
    from programs.optimize.subsets import load_subsets

    return load_subsets(config)


def _search(job: _Plan, run_dir: RunDir, tracker: Tracker) -> OptimizeResult:
    """Run the job in a tracked run and register the prompt that it finds."""
    from programs.lm import make_lm
    from programs.optimize.fingerprint import Job
    from programs.optimize.job import optimize, task_of
    from programs.optimize.trials import try_reflection, try_student

    config, prompt = job.config, job.prompt
    made = make_lm(job.lms[0]), make_lm(job.lms[1])
    if not _is_embedded(config):
        try_student(made[0], task_of(config), prompt, run_dir)
    if config.reflection is not None:  # else it is the student, as it was tried
        try_reflection(made[1], run_dir)
    with _tracked(job, tracker) as run:
        task = Job(task_of(config), config, prompt, job.train.items, job.dev.items, *made)
        result = optimize(task, run_dir, run)
        _register(result, run.id)
    return result


def _complete(job: _Plan, result: OptimizeResult, run_dir: RunDir, tracker: Tracker) -> None:
    """Log what is missing if the job was killed between its result and the end of its run."""
    from programs.optimize.job import log_result

    with _tracked(job, tracker) as run:
        log_result(result, run_dir, run)
        _register(result, run.id)


@contextmanager
def _tracked(job: _Plan, tracker: Tracker) -> Iterator[Run]:
    config, (student, reflection) = job.config, job.lms
    name = f"{job.prompt.name} for {config.student} on {job.train.ref.name}"
    with tracker.start("optimize", name, run_dir=config.out, config=config.identity()) as run:
        run.tags({"system": config.student, "uses.data": job.train.split_digest})
        run.params({"student": student.identity(), "reflection": reflection.identity()})
        run.data(job.train.ref, "train")
        run.data(job.dev.ref, "dev")
        yield run


def _register(result: OptimizeResult, run_id: str | None) -> None:
    """Put seed and best prompt into MLflow's registry; a store that fails fails no job.

    A prompt that is there already is left as it is.
    """
    if not result.best.index or run_id is None:
        return
    from programs.chat_format import render_messages
    from tracking.prompt_registry import register_prompt

    seed, best = result.candidates[0].prompt, result.best.prompt
    try:
        for prompt, run, note in ((seed, None, "seed prompt"), (best, run_id, result.verdict)):
            messages = render_messages(prompt, "{{reference}}")
            uri = register_prompt(seed.name, messages, prompt.digest, run, note)
    except JobError as error:
        click.echo(f"reno: {error} The prompt is in prompt.json all the same.", err=True)
    else:
        click.echo(f"Registered as {uri} (reno evaluate --prompt {uri}).", err=True)


def _student(config: OptimizeConfig) -> LMSpec:
    """The student's specification; the embedded model has no endpoint before it is served."""
    from finetune.base import EMBEDDED
    from programs.systems import load_recipe

    if _is_embedded(config):
        return LMSpec(model=f"openai/{EMBEDDED}")
    spec = load_recipe(config.student).lm
    return spec.changed(api_base=config.api_base) if config.api_base is not None else spec


def _is_embedded(config: OptimizeConfig) -> bool:
    from finetune.base import EMBEDDED

    return config.student in ("embedded", EMBEDDED) and config.api_base is None


@contextmanager
def _served(config: OptimizeConfig, lms: tuple[LMSpec, LMSpec]) -> Iterator[tuple[LMSpec, LMSpec]]:
    """`lms`, served; the embedded model's server ends with the context."""
    from finetune.base import EMBEDDED

    if _is_embedded(config):
        from finetune.serving.job import local_server

        with local_server(EMBEDDED, None, config.out / "server.log") as endpoint:
            yield choose_lms(config, lms[0].changed(api_base=endpoint.api_base))
        return
    yield lms


def choose_lms(config: OptimizeConfig, student: LMSpec) -> tuple[LMSpec, LMSpec]:
    """The student's specification as the options change it, and the reflection LM's."""
    if config.max_tokens is not None:
        student = student.changed(max_tokens=config.max_tokens)
    return student, config.reflection or student.changed(temperature=1.0)
