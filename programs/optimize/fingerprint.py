"""A GEPA job: everything that goes into it, and what identifies it in its run directory."""

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
    """What a job's result depends on besides its options; found without asking an LM.

    The code enters as version numbers, which whoever changes requests or scores raises: an edited comment
    must not keep a job that was paid for from resuming.
    """
    return {
        "task_version": task.version,
        "reflection_version": reflecting.VERSION,
        "prompt_digest": prompt.digest,
        "train_digest": task.digest(train),
        "dev_digest": task.digest(dev),
        "student_identity": student.identity(),
        "reflection_identity": reflection.identity(),
    }
