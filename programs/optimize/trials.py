"""The trial requests of a GEPA job: before it pays for anything, each LM answers one request.

A key that is missing or an option that a model does not take shows there, and not after the seed prompt
was measured. What a trial takes is kept: it is no answer, but its tokens count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

from programs.lm import LM
from programs.optimize.answers import Spent, add_up
from programs.optimize.reflection import ask_for_a_trial
from programs.optimize.tasks import Task
from programs.preflight import try_out
from programs.prompts import Prompt
from reno_dspy.base.errors import RenoError
from reno_dspy.base.rundir import RunDir

TRIALS = "trials.jsonl"
Side = Literal["student", "reflection"]


def try_student(lm: LM, task: Task, prompt: Prompt, run_dir: RunDir) -> None:
    """Ask the student with the seed prompt. Raises as `try_out` does."""
    program = task.program(prompt)
    _try(lm, lambda: program(**task.trial), "student", run_dir)


def try_reflection(lm: LM, run_dir: RunDir) -> None:
    """Ask the reflection LM for instructions. Raises as `try_out` does."""
    _try(lm, ask_for_a_trial, "reflection", run_dir)


def spent_on_trials(run_dir: RunDir) -> dict[Side, Spent]:
    """Tokens and cost of the trials of all sessions, by LM; they do not count as calls of the job."""
    rows = run_dir.log(TRIALS).read()
    sides: tuple[Side, ...] = ("student", "reflection")
    return {
        side: replace(add_up([row for row in rows if row["side"] == side]), calls=0)
        for side in sides
    }


def _try(lm: LM, ask: Callable[[], Any], side: Side, run_dir: RunDir) -> None:
    try:
        usage = try_out(lm, ask)
    except RenoError as error:
        raise type(error)(f"The {side} LM was tried. {error}") from error
    with run_dir.log(TRIALS).appending() as log:
        log.write({"side": side, **usage})
