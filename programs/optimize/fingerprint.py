"""A GEPA job: everything that goes into it, and what its run directory knows it by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dspy

from programs.config import LMSpec, OptimizeConfig
from programs.optimize import reflection as reflecting
from programs.optimize.tasks import Task
from programs.prompts import Prompt


@dataclass(frozen=True)
class Job:
    """A GEPA job with everything that its result depends on."""

    task: Task
    config: OptimizeConfig
    prompt: Prompt
    train: Sequence[Any]
    dev: Sequence[Any]
    student: dspy.LM
    reflection: dspy.LM


def inputs_of(
    task: Task,
    prompt: Prompt,
    train: Sequence[Any],
    dev: Sequence[Any],
    student: LMSpec,
    reflection: LMSpec,
) -> Mapping[str, Any]:
    """What a job's result depends on besides its options. No LM is asked for it.

    The code enters by versions, which somebody raises who changes what is asked or how it is scored: a
    comment must not keep a paid job from resuming.
    """
    return {
        "task": task.version,
        "reflection": reflecting.VERSION,
        "prompt": prompt.digest,
        "train": task.digest(train),
        "dev": task.digest(dev),
        "student_lm": student.identity(),
        "reflection_lm": reflection.identity(),
    }
