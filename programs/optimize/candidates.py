"""What a GEPA job found: its candidates, the best one against the seed prompt, a plain verdict."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from programs.optimize.answers import Spent
from programs.prompts import Prompt
from reno_dspy.base.show import markdown_table
from reno_dspy.measure.stats import Paired, in_words, paired_difference

# Words in a row that a prompt shares with a reference only if it copies it.
_SHINGLE = 5


@dataclass(frozen=True)
class Candidate:
    """One prompt that GEPA measured on dev.

    `score` is the mean of `scores` (one a dev reference, 0..1, in the order of dev); `fields` the mean
    lenient recall by field; `metric_calls` the budget used when it was found. The seed is index 0.
    """

    index: int
    parents: tuple[int, ...]
    prompt: Prompt
    score: float
    scores: tuple[float, ...]
    fields: Mapping[str, float]
    metric_calls: int

    def row(self) -> dict[str, Any]:
        """The candidate as JSON values."""
        return asdict(self) | {"prompt": self.prompt.model_dump(), "digest": self.prompt.digest}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Candidate:
        """The candidate that `row()` wrote."""
        values = {key: value for key, value in row.items() if key != "digest"}
        values["prompt"] = Prompt.model_validate(values["prompt"])
        return cls(**values | {key: tuple(values[key]) for key in ("parents", "scores")})


@dataclass(frozen=True)
class OptimizeResult:
    """The outcome of a job. `difference` is best minus seed on dev, None where it has no interval.

    `failures` counts the student's requests that have no answer by reason (each scored 0), `thoughts`
    the answers of `student` and `reflection` that began with thoughts.
    """

    candidates: tuple[Candidate, ...]
    best: Candidate
    difference: Paired | None
    verdict: str
    proposals: Mapping[str, int]
    metric_calls: int
    stopped_by: str
    student: Spent
    reflection: Spent
    copied: float
    failures: Mapping[str, int] = field(default_factory=dict)
    thoughts: Mapping[str, int] = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        """What `result.json` holds: everything but the candidates, which have their own file."""
        values = asdict(self) | {"best": self.best.index, "best_digest": self.best.prompt.digest}
        del values["candidates"]
        return values | {"seed_score": self.candidates[0].score, "best_score": self.best.score}

    @classmethod
    def from_files(cls, summary: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Any:
        """The result that `summary` and the candidates' rows describe."""
        candidates = tuple(Candidate.from_row(row) for row in rows)
        values = {key: summary[key] for key in cls.__dataclass_fields__ if key in summary}
        difference = values["difference"]
        return cls(
            **values
            | {
                "candidates": candidates,
                "best": candidates[summary["best"]],
                "difference": Paired(**difference) if difference else None,
                "student": Spent(**values["student"]),
                "reflection": Spent(**values["reflection"]),
            }
        )


def best_of(candidates: Sequence[Candidate]) -> Candidate:
    """The candidate with the highest dev score; of equal ones the earliest, so the seed first."""
    return max(candidates, key=lambda candidate: (candidate.score, -candidate.index))


def difference_on_dev(
    seed: Candidate, best: Candidate, clusters: Sequence[str | None]
) -> Paired | None:
    """Best minus seed over the dev references; None with fewer than two citing articles."""
    ones = [1.0] * len(seed.scores)
    return paired_difference(best.scores, ones, seed.scores, ones, clusters)


def give_verdict(
    seed: Candidate, best: Candidate, difference: Paired | None, proposals: Counter[str]
) -> str:
    """The verdict of a job, in a sentence or two."""
    total = proposals.total()
    if best.index == seed.index:
        return _no_improvement(total, total - proposals["usable"])
    change = f"dev score {seed.score:.3f} -> {best.score:.3f}"
    if difference is None:
        return f"Better on dev ({change}), but dev has too few citing articles for an interval."
    if difference.too_few_articles:
        return (
            f"Better on dev, but {in_words(difference)}: {change} ({points(difference)}). Measure both "
            "prompts on data with more citing articles."
        )
    shown = f"{change} ({points(difference)}, p = {difference.p:.3f})"
    if difference.verdict == "better":
        return f"Improvement: {shown}. It was chosen on dev: test it before use."
    return f"No sure improvement: {shown}: chance alone could give this."


def _no_improvement(proposals: int, unusable: int) -> str:
    if not proposals:
        return (
            "No improvement: nothing was proposed. The budget allowed no proposal, or the seed prompt "
            "made no mistakes."
        )
    if unusable == proposals:
        return (
            f"No improvement: the reflection LM wrote no usable instructions in {proposals} proposals. "
            "Use a stronger one (--reflection-lm)."
        )
    rest = f" ({unusable} of them unusable)" if unusable else ""
    return f"No improvement: none of {proposals} proposals{rest} beat the seed prompt on dev."


def points(difference: Paired) -> str:
    """A difference of scores in points, with its interval."""
    return (
        f"{100 * difference.difference:+.1f} points, 95% interval "
        f"{100 * difference.low:+.1f} to {100 * difference.high:+.1f}"
    )


def copied_share(instructions: str, references: Sequence[str]) -> float:
    """The share of the instructions' words that stand in a run of five words of a reference.

    0 for instructions of general rules; near 1 for a prompt that lists its training texts.
    """
    words = instructions.casefold().split()
    known = {
        tuple(parts[i : i + _SHINGLE])
        for parts in (reference.casefold().split() for reference in references)
        for i in range(len(parts) - _SHINGLE + 1)
    }
    covered: set[int] = set()
    for i in range(len(words) - _SHINGLE + 1):
        if tuple(words[i : i + _SHINGLE]) in known:
            covered.update(range(i, i + _SHINGLE))
    return len(covered) / len(words) if words else 0.0


def write_report(result: OptimizeResult) -> str:
    """The job's outcome in Markdown: verdict, candidates, proposals, tokens, the changed prompt."""
    seed, best = result.candidates[0], result.best
    fields = sorted({name for candidate in result.candidates for name in candidate.fields})
    spent = [_spent_row("student", result.student), _spent_row("reflection", result.reflection)]
    parts = [
        f"**{result.verdict}**\n",
        f"{result.metric_calls} metric calls; ended by {result.stopped_by}. Copied from the "
        f"references: {result.copied:.0%} of the best prompt's words.\n",
        markdown_table(
            ["candidate", "parents", "found at call", "dev score", *fields],
            [_table_row(candidate, fields, best) for candidate in result.candidates],
        ),
        markdown_table(["proposals", "count"], sorted(result.proposals.items())),
    ]
    if result.failures:
        head = "requests of the student without an answer (scored 0)"
        parts.append(markdown_table([head, "count"], sorted(result.failures.items())))
    parts.append(markdown_table(["", "calls", "prompt tokens", "completion tokens", "cost"], spent))
    if any(result.thoughts.values()):
        counts = ", ".join(f"{side} {count}" for side, count in result.thoughts.items())
        parts.append(f"Answers that began with thoughts, which were taken out: {counts}.\n")
    if best.index:
        parts.append("\n".join(["```diff", *prompt_diff(seed.prompt, best.prompt), "```\n"]))
    return "\n".join(parts)


def prompt_diff(seed: Prompt, best: Prompt) -> list[str]:
    """A unified diff of the instructions."""
    pair = (seed.instructions.splitlines(), best.instructions.splitlines())
    return list(difflib.unified_diff(*pair, seed.name, best.name, lineterm=""))


def draw_lineage(candidates: Sequence[Candidate], best: Candidate, path: Path) -> None:
    """Draw dev score by metric calls, each candidate joined to its parents, as an image."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    for candidate in candidates:
        for parent in candidate.parents:
            ends = (candidates[parent], candidate)
            points = ([end.metric_calls for end in ends], [end.score for end in ends])
            axes.plot(*points, color="0.7", linewidth=1, zorder=1)
        color = "tab:green" if candidate.index == best.index else "tab:blue"
        axes.scatter(candidate.metric_calls, candidate.score, color=color, zorder=2)
        label = "seed" if candidate.index == 0 else str(candidate.index)
        point = (candidate.metric_calls, candidate.score)
        axes.annotate(label, point, xytext=(4, 4), textcoords="offset points")
    axes.set(xlabel="metric calls", ylabel="dev score", title="Candidates and their parents")
    figure.savefig(path, dpi=120)


def _table_row(candidate: Candidate, fields: Sequence[str], best: Candidate) -> list[str]:
    name = f"{candidate.index}{' (seed)' if candidate.index == 0 else ''}"
    values = [f"{candidate.fields[f]:.3f}" if f in candidate.fields else "-" for f in fields]
    return [
        f"**{name}**" if candidate.index == best.index else name,
        ", ".join(map(str, candidate.parents)) or "-",
        str(candidate.metric_calls),
        f"{candidate.score:.3f}",
        *values,
    ]


def _spent_row(name: str, spent: Spent) -> list[str]:
    cost = "-" if spent.cost is None else f"${spent.cost:.4f}"
    tokens = [spent.prompt_tokens, spent.completion_tokens]
    counts = ["-" if count is None else f"{count:,}" for count in tokens]
    return [name, str(spent.calls), *counts, cost]
