"""The GEPA job: find better instructions for a program and measure them against the seed prompt.

    reno optimize programs/recipes/optimize/light.yaml --data DATA --out DIR

Minibatches come from `train`, the Pareto set is `dev`, `test` is never opened. The run directory keeps
every paid answer, so a killed job resumes; another job does not resume in its place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from programs.config import OptimizeConfig
from programs.optimize.answers import (
    Answers,
    StopOnFailure,
    open_answers,
)
from programs.optimize.budget import Stopper, plan_job
from programs.optimize.candidates import (
    Candidate,
    OptimizeResult,
    best_of,
    copied_share,
    difference_on_dev,
    draw_lineage,
    give_verdict,
    prompt_diff,
    write_report,
)
from programs.optimize.fingerprint import Job
from programs.optimize.gepa import run_gepa
from programs.optimize.live import REPORTED, Live, read_candidates
from programs.optimize.reflection import Proposer
from programs.optimize.tasks import Annotating, Extracting, Task
from programs.optimize.trials import spent_on_trials
from programs.prompts import save
from reno_dspy.base.errors import InputError
from reno_dspy.base.failures import FailureBudget
from reno_dspy.base.files import write_json, write_text
from reno_dspy.base.progress import bar
from reno_dspy.base.rundir import RunDir
from reno_dspy.base.tracker import Run

RESULT, CANDIDATES = "result.json", "candidates.json"


def optimize(job: Job, run_dir: RunDir, run: Run) -> OptimizeResult:
    """Run GEPA from the job's prompt, or resume it in `run_dir` (a finished job: `finished`).

    `run_dir` was opened for this very job (`fingerprint.inputs_of`). Writes `prompt.json` (the best),
    `candidates.json`, `result.json`, `report.md`, `prompt.diff` and `lineage.png`. Raises JobError when
    an LM fails.
    """
    planned = plan_job(job.config, len(job.dev))
    budget = FailureBudget(job.config.max_errors, planned.metric_calls, "requests")
    with open_answers(run_dir.log("answers.jsonl"), budget) as answers:
        result = _search(job, planned.metric_calls, run_dir, run, answers)
    keep_result(result, run_dir)
    log_result(result, run_dir, run)
    return result


def task_of(config: OptimizeConfig) -> Task:
    """The task that a job's options name."""
    return Extracting() if config.program == "extract" else Annotating()


def _search(
    job: Job, metric_calls: int, run_dir: RunDir, run: Run, answers: Answers
) -> OptimizeResult:
    proposer = Proposer(answers, run_dir.log("reflections.jsonl"), job.config.max_prompt_chars)
    tried = spent_on_trials(run_dir)
    stopper = Stopper(
        job.config.budget,
        lambda: (answers.spent() + tried["student"], proposer.spent() + tried["reflection"]),
        proposer.since,
    )
    stoppers = [StopOnFailure(answers), stopper]
    with bar("optimize", metric_calls) as shown:
        live = Live(run, run_dir.log(REPORTED), job.prompt, shown)
        state = run_gepa(job, metric_calls, run_dir, answers, proposer, stoppers, live)
    stopped_by = stopper.reason or "the budget of metric calls"
    candidates = read_candidates(state, job.prompt)
    found = conclude(candidates, job, answers, proposer, state.total_num_evals, stopped_by)
    return replace(
        found,
        student=found.student + tried["student"],
        reflection=found.reflection + tried["reflection"],
    )


def finished(run_dir: RunDir) -> OptimizeResult | None:
    """The result of the job in `run_dir` once it is finished, for which no LM is needed; else None."""
    return read_result(run_dir) if (run_dir / RESULT).exists() else None


def conclude(
    candidates: Sequence[Candidate],
    job: Job,
    answers: Answers,
    proposer: Proposer,
    metric_calls: int,
    stopped_by: str,
) -> OptimizeResult:
    """Choose the best candidate and compare it with the seed prompt."""
    seed, best = candidates[0], best_of(candidates)
    difference = (
        difference_on_dev(seed, best, [job.task.cluster(item) for item in job.dev])
        if best.index
        else None
    )
    references = [job.task.text(item) for item in (*job.train, *job.dev)]
    return OptimizeResult(
        candidates=tuple(candidates),
        best=best,
        difference=difference,
        verdict=give_verdict(seed, best, difference, proposer.counts()),
        proposals=dict(proposer.counts()),
        metric_calls=metric_calls,
        stopped_by=stopped_by,
        student=answers.spent(),
        reflection=proposer.spent(),
        failures=dict(answers.failures()),
        thoughts={"student": answers.thoughts(), "reflection": proposer.thoughts()},
        copied=copied_share(best.prompt.instructions, references),
    )


def keep_result(result: OptimizeResult, run_dir: RunDir) -> None:
    """Write the result's files, `result.json` last: it marks the job as done."""
    seed, best = result.candidates[0], result.best
    save(best.prompt, run_dir / "prompt.json")
    write_json(run_dir / CANDIDATES, [candidate.row() for candidate in result.candidates])
    write_text(run_dir / "prompt.diff", "\n".join(prompt_diff(seed.prompt, best.prompt)) + "\n")
    write_text(run_dir / "report.md", write_report(result))
    draw_lineage(result.candidates, best, run_dir / "lineage.png")
    write_json(run_dir / RESULT, result.summary())


def log_result(result: OptimizeResult, run_dir: RunDir, run: Run) -> None:
    """Log a finished job's files and figures; doing it again logs nothing twice.

    A job that was killed after its result and before the end of its run is completed by this.
    """
    seed, best = result.candidates[0], result.best
    for name in ("prompt.json", CANDIDATES, "prompt.diff", "report.md", "lineage.png"):
        run.artifact(run_dir / name)
    run.metrics(_final_metrics(result))
    made = {"makes.prompt": best.prompt.digest} if best.index else {}
    run.tags({"uses.prompt": seed.prompt.digest} | made)
    run.describe(write_report(result))


def read_result(run_dir: RunDir) -> OptimizeResult:
    """The result of a finished job. Raises InputError when its files do not hold one."""
    try:
        summary = json.loads((run_dir / RESULT).read_text(encoding="utf-8"))
        rows = json.loads((run_dir / CANDIDATES).read_text(encoding="utf-8"))
        result: OptimizeResult = OptimizeResult.from_files(summary, rows)
        return result
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{run_dir.path} holds no readable result of a GEPA job ({error}). Use --fresh."
        ) from error


def _final_metrics(result: OptimizeResult) -> dict[str, float | None]:
    difference = result.difference
    usable = result.proposals.get("usable", 0)
    return {
        "dev/seed": result.candidates[0].score,
        "dev/gain": result.best.score - result.candidates[0].score,
        "dev/gain/low": difference.low if difference else None,
        "dev/gain/high": difference.high if difference else None,
        "metric_calls": result.metric_calls,
        "candidates": len(result.candidates),
        "proposals/usable": usable,
        "proposals/unusable": sum(result.proposals.values()) - usable,
        "prompt/copied": result.copied,
        "requests/failed": sum(result.failures.values()),
        "tokens/student": result.student.tokens,
        "tokens/reflection": result.reflection.tokens,
        "cost/student": result.student.cost,
        "cost/reflection": result.reflection.cost,
    } | {f"dev/{name}": value for name, value in result.best.fields.items()}
