"""A GEPA job: its options, what goes into it, and the fingerprint by which it is resumed."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import dspy
from pydantic import Field

import programs.adapter
import programs.feedback
import programs.reflection
import reno_dspy.citation
import reno_dspy.metric
from programs.annotate import AnnotateReference
from programs.budget import Auto, Budget, Plan, auto_calls, plan
from programs.feedback import Objective
from programs.lm import LMSpec
from programs.prompts import Prompt
from reno_dspy.config import Config
from reno_dspy.dataset import Row, digest_rows
from reno_dspy.errors import InputError
from reno_dspy.rundir import RunDir, write_json

FINGERPRINT = "fingerprint.json"


class OptimizeConfig(Config):
    """A GEPA job."""

    free: ClassVar[frozenset[str]] = frozenset({"out", "api_base", "threads"})

    data: str = Field(description="Data set directory with the splits train and dev.")
    out: Path = Field(description="Run directory.")
    student: str = Field("embedded", description="System to optimize: embedded, or a recipe.")
    prompt: str = Field("two-shot", description="Seed prompt: a shipped one or a file.")
    api_base: str | None = Field(None, description="Where the student is served.")
    max_tokens: int = Field(1024, gt=0, description="Longest answer of the student, in tokens.")
    reflection_lm: str | None = Field(None, description="Reflection LM; none: the student's own.")
    reflection: LMSpec | None = Field(None, description="How the reflection LM is asked.")
    auto: Auto | None = Field(None, description="Budget by name, instead of --max-metric-calls.")
    max_metric_calls: int | None = Field(None, gt=0, description="Budget in metric calls.")
    train_size: int = Field(40, gt=0, description="Training references that minibatches draw on.")
    dev_size: int = Field(24, gt=0, description="Dev references that every candidate is scored on.")
    minibatch: int = Field(3, gt=0, description="References a proposal is made from.")
    stratify: tuple[str, ...] = Field(
        ("source", "language", "publication_type"),
        description="Columns by which the samples of train and dev keep their proportions.",
    )
    objective: Objective = Field(default_factory=Objective, description="What is optimized.")
    budget: Budget = Field(default_factory=Budget, description="Further limits.")
    max_prompt_chars: int = Field(4000, gt=0, description="Longest instructions to accept.")
    feedback_chars: int = Field(900, ge=200, description="Longest feedback on one answer.")
    threads: int = Field(8, ge=1, description="Requests at once.")
    seed: int = Field(0, description="Seed of samples and of GEPA.")

    def plan(self, dev: int) -> Plan:
        """The budget over `dev` references. Raises InputError unless it is given in one way."""
        if (self.auto is None) == (self.max_metric_calls is None):
            raise InputError("Give the budget once: --auto or --max-metric-calls.")
        calls = self.max_metric_calls or auto_calls(self.auto or "light", dev, self.minibatch)
        return plan(calls, dev, self.minibatch, self.budget.min_proposals)


@dataclass(frozen=True)
class Job:
    """A GEPA job with everything that its result depends on."""

    config: OptimizeConfig
    prompt: Prompt
    train: Sequence[Row]
    dev: Sequence[Row]
    student: dspy.LM
    reflection: dspy.LM

    def fingerprint(self) -> dict[str, str]:
        """What the result depends on, by name. Two jobs with one fingerprint are the same job."""
        metric = (programs.feedback, reno_dspy.metric, reno_dspy.citation)
        return {
            "options": _digest(json.dumps(self.config.identity(), sort_keys=True)),
            "program": _digest(
                inspect.getsource(programs.adapter), inspect.getsource(AnnotateReference)
            ),
            "reflection program": _digest(inspect.getsource(programs.reflection)),
            "metric": _digest(*(inspect.getsource(module) for module in metric)),
            "prompt": self.prompt.digest,
            "train": digest_rows(self.train),
            "dev": digest_rows(self.dev),
            "student": _lm_identity(self.student),
            "reflection LM": _lm_identity(self.reflection),
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
