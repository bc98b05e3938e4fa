"""The budget of a GEPA job: what it allows, shown before the job starts, and the stopper that keeps it.

A metric call is one reference annotated and scored. The seed prompt takes one call a dev reference,
a proposal two minibatches (its parent's and its own), an accepted one all of dev besides.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from programs.config import Auto, Budget, OptimizeConfig
from programs.optimize.answers import NOTHING, Spent
from reno_dspy.base.errors import InputError, JobError

# Accepted candidates that a budget by name makes room for, as in DSPy; and proposals for each.
_CANDIDATES = {"light": 6, "medium": 12, "heavy": 18}
_PROPOSALS_PER_CANDIDATE = 4
# The seed prompt is older than GEPA's first iteration, which is 0.
_BEFORE_ALL = -1


@dataclass(frozen=True)
class Plan:
    """The metric calls of a job and the proposals that they allow: at least, at most."""

    metric_calls: int
    dev: int
    minibatch: int
    at_least: int
    at_most: int

    def __str__(self) -> str:
        return (
            f"{self.metric_calls} metric calls: {self.dev} for the seed prompt on dev, then "
            f"{self.at_least} to {self.at_most} proposals of {2 * self.minibatch} each, and "
            f"{self.dev} more for each accepted one"
        )


def auto_calls(auto: Auto, dev: int, minibatch: int) -> int:
    """The metric calls of a budget by name.

    dev + candidates * (dev + 4 * 2 * minibatch): unlike DSPy's own formula it follows the minibatch.
    """
    return dev + _CANDIDATES[auto] * (dev + _PROPOSALS_PER_CANDIDATE * 2 * minibatch)


def plan_job(config: OptimizeConfig, dev: int) -> Plan:
    """The budget of a job over `dev` references.

    Raises InputError unless it is given in exactly one way and allows enough proposals.
    """
    if (config.auto is None) == (config.max_metric_calls is None):
        raise InputError(
            "Give the budget once: --auto or --max-metric-calls. To drop the recipe's own, add --set "
            "auto=null or --set max_metric_calls=null."
        )
    calls = config.max_metric_calls or auto_calls(config.auto or "light", dev, config.minibatch)
    return plan(calls, dev, config.minibatch, config.budget.min_proposals)


def plan(metric_calls: int, dev: int, minibatch: int, min_proposals: int) -> Plan:
    """What `metric_calls` allow. Raises InputError when that is fewer than `min_proposals`.

    A budget is soft: a proposal is begun as long as one call is left.
    """
    left = max(0, metric_calls - dev)
    at_least = math.ceil(left / (2 * minibatch + dev))
    at_most = math.ceil(left / (2 * minibatch))
    if at_least < min_proposals:
        needed = dev + (min_proposals - 1) * (2 * minibatch + dev) + 1
        raise InputError(
            f"{metric_calls} metric calls may be too few for {min_proposals} proposals "
            f"(budget.min_proposals), with {dev} dev references and minibatches of {minibatch}. Use at "
            f"least --max-metric-calls {needed}, or a smaller --dev-size or --minibatch."
        )
    return Plan(metric_calls, dev, minibatch, at_least, at_most)


class Stopper:
    """GEPA's stop condition for the limits of a `Budget`; `reason` is the one that was met.

    `spent` returns what each LM has taken. Where cost is limited, an LM without a known price ends the job
    (JobError): the limit could not be kept.

    `proposals_since(iteration)` is how many proposals were asked for after an iteration of GEPA.
    """

    def __init__(
        self,
        budget: Budget,
        spent: Callable[[], Sequence[Spent]],
        proposals_since: Callable[[int], int],
    ) -> None:
        self._budget = budget
        self._spent = spent
        self._proposals_since = proposals_since
        self._start = time.monotonic()
        self.reason: str | None = None

    def __call__(self, gepa_state: Any) -> bool:
        """Whether to stop now."""
        limits = self._budget
        minutes = (time.monotonic() - self._start) / 60
        if limits.max_minutes is not None and minutes >= limits.max_minutes:
            self.reason = f"{limits.max_minutes:g} minutes"
        elif limits.max_tokens is not None and self._tokens() >= limits.max_tokens:
            self.reason = f"{limits.max_tokens:,} tokens"
        elif limits.max_cost is not None and self._cost() >= limits.max_cost:
            self.reason = f"${limits.max_cost:g}"
        elif limits.patience is not None and self._without_gain(gepa_state) >= limits.patience:
            self.reason = f"{limits.patience} proposals without a better candidate"
        return self.reason is not None

    def _tokens(self) -> float:
        spent = sum(self._spent(), NOTHING)
        unknown = "The endpoints return no token counts"
        return _known(spent.tokens, spent, "max_tokens", unknown, "max_minutes")

    def _cost(self) -> float:
        each = self._spent()
        spent = sum(each, NOTHING)
        unpriced = any(one.tokens and one.cost is None for one in each)
        cost = None if unpriced else spent.cost
        unknown = "The price of an LM is not known"
        return _known(cost, spent, "max_cost", unknown, "max_tokens")

    def _without_gain(self, state: Any) -> int:
        """Proposals since the best candidate was found. A perfect minibatch asks for none."""
        scores = state.program_full_scores_val_set
        best = max(range(len(scores)), key=scores.__getitem__)
        found = [
            entry["i"]
            for entry in state.full_program_trace
            if best in entry.get("new_program_indices", ())
        ]
        return self._proposals_since(found[0] if found else _BEFORE_ALL)


def _known(value: float | None, spent: Spent, limit: str, unknown: str, instead: str) -> float:
    if spent.calls and value is None:
        raise JobError(
            f"{unknown}, so budget.{limit} cannot be kept. Limit budget.{instead} instead."
        )
    return value or 0
