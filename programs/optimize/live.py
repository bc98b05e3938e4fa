"""A GEPA job as it runs: its progress bar, its live curve, a child run for each candidate."""

from __future__ import annotations

import time
from typing import Any

from programs.optimize.candidates import Candidate
from programs.prompts import Prompt
from reno_dspy.base.jsonl import JsonlLog
from reno_dspy.base.progress import Bar
from reno_dspy.base.tracker import Run

REPORTED = "reported.jsonl"
# The curve gets a point at each change, else at most this often (seconds): a store takes its time.
CURVE_S = 2.0


class Live:
    """GEPA callbacks. Candidates are reported once GEPA has saved them, and once only."""

    def __init__(self, run: Run, log: JsonlLog, seed_prompt: Prompt, bar: Bar) -> None:
        self._run = run
        self._log = log
        self._seed = seed_prompt
        self._bar = bar
        self._reported = len(log.read())
        self._state: Any = None
        self._calls = 0
        self._best: float | None = None
        self._told = 0.0

    def on_valset_evaluated(self, event: dict[str, Any]) -> None:
        """Log the seed's score; those of later candidates are in the state."""
        if event["candidate_idx"] == 0 and not self._reported:
            self._run.metrics({"dev/best": event["average_score"]}, step=0)

    def on_budget_updated(self, event: dict[str, Any]) -> None:
        """Move the bar and the curve of the best dev score by metric calls."""
        used = event["metric_calls_used"]
        best = max(self._state.program_full_scores_val_set) if self._state else None
        note = "" if best is None else f"best {best:.3f}, {len(self._scores())} candidates"
        self._bar.advance(used - self._calls, note)
        self._calls = used
        now = time.monotonic()
        if best != self._best or now - self._told >= CURVE_S:
            self._run.metrics({"dev/best": best}, step=used)
            self._best, self._told = best, now

    def on_iteration_start(self, event: dict[str, Any]) -> None:
        """Keep hold of the state: later events come without it."""
        self._state = event["state"]

    def on_state_saved(self, event: dict[str, Any]) -> None:
        """Report what the saved state holds and no child run shows yet."""
        if self._state is not None:
            self._report()

    def on_optimization_end(self, event: dict[str, Any]) -> None:
        """Report the rest; the last point of the curve is the final state's."""
        self._state = event["final_state"]
        self._report()
        best = max(self._scores())
        self._run.metrics({"dev/best": best}, step=event["total_metric_calls"])

    def _scores(self) -> list[float]:
        scores: list[float] = self._state.program_full_scores_val_set
        return scores

    def _report(self) -> None:
        for candidate in read_candidates(self._state, self._seed)[self._reported :]:
            with self._run.child(f"candidate-{candidate.index}") as child:
                report_candidate(child, candidate)
            with self._log.appending() as log:
                log.write({"index": candidate.index, "digest": candidate.prompt.digest})
            self._reported += 1


def report_candidate(child: Run, candidate: Candidate) -> None:
    """Log one candidate to its run: its dev scores and its prompt."""
    fields = {f"dev/{name}": value for name, value in candidate.fields.items()}
    child.metrics({"dev/score": candidate.score, "metric_calls": candidate.metric_calls} | fields)
    child.tags(
        {
            "candidate": str(candidate.index),
            "parents": ",".join(map(str, candidate.parents)),
            "prompt_digest": candidate.prompt.digest,
        }
    )
    child.text(candidate.prompt.model_dump_json(indent=2), "prompt.json")


def read_candidates(state: Any, seed: Prompt) -> list[Candidate]:
    """The candidates of a GEPA state, in the order in which they were found."""
    return [
        Candidate(
            index=index,
            parents=tuple(
                parent for parent in state.parent_program_for_candidate[index] if parent is not None
            ),
            prompt=_prompt(seed, index, texts),
            score=state.program_full_scores_val_set[index],
            scores=tuple(score for _, score in sorted(scores.items())),
            fields=dict(sorted(state.prog_candidate_objective_scores[index].items())),
            metric_calls=state.num_metric_calls_by_discovery[index],
        )
        for index, (texts, scores) in enumerate(
            zip(state.program_candidates, state.prog_candidate_val_subscores, strict=True)
        )
    ]


def _prompt(seed: Prompt, index: int, texts: dict[str, str]) -> Prompt:
    if index == 0:
        return seed
    (instructions,) = texts.values()
    name = f"{seed.name}-gepa-{index}"
    return Prompt(name=name, instructions=instructions, demos=seed.demos)
