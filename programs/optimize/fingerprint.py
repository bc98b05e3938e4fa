"""A GEPA job: everything that goes into it, and the fingerprint by which it is resumed."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dspy

import programs.optimize.reflection
from programs.config import OptimizeConfig
from programs.optimize.tasks import Task
from programs.prompts import Prompt
from reno_dspy.base.errors import InputError
from reno_dspy.base.files import write_json
from reno_dspy.base.rundir import RunDir

FINGERPRINT = "fingerprint.json"


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

    def fingerprint(self) -> dict[str, str]:
        """What the result depends on, by name. Two jobs with one fingerprint are the same job."""
        lms = {
            "student": _lm_identity(self.student),
            "reflection LM": _lm_identity(self.reflection),
        }
        return input_fingerprint(self.task, self.config, self.prompt, self.train, self.dev) | lms


def input_fingerprint(
    task: Task, config: OptimizeConfig, prompt: Prompt, train: Sequence[Any], dev: Sequence[Any]
) -> dict[str, str]:
    """The part of a job's fingerprint that is known before any LM is."""
    return {
        "options": _digest(json.dumps(config.identity(), sort_keys=True)),
        **{name: _digest(source) for name, source in task.sources().items()},
        "reflection program": _digest(inspect.getsource(programs.optimize.reflection)),
        "prompt": prompt.digest,
        "train": task.digest(train),
        "dev": task.digest(dev),
    }


def check_fingerprint(run_dir: RunDir, wanted: Mapping[str, str]) -> None:
    """Write the fingerprint of a new job; refuse another job than the one begun, naming it."""
    path = run_dir / FINGERPRINT
    if not path.exists():
        write_json(path, dict(wanted))
        return
    found = json.loads(path.read_text(encoding="utf-8"))
    changed = [key for key in wanted if found.get(key) != wanted[key]]
    if changed:
        lines = [f"  {key}: {found.get(key)} -> {wanted[key]}" for key in changed]
        raise InputError(
            f"{run_dir.path} holds a GEPA job that was begun with something else:\n"
            + "\n".join(lines)
            + "\nPut it back to resume, name another --out, or start over with --fresh."
        )


def _lm_identity(lm: dspy.LM) -> str:
    hidden = ("api_key", "api_base", "timeout")
    options = {key: value for key, value in lm.kwargs.items() if key not in hidden}
    options = {key: value for key, value in options.items() if value is not None}
    return f"{lm.model} {json.dumps(options, sort_keys=True)}"


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8")).hexdigest()[:12]
