"""What differs between runs: the options that are not equal, and the prompts as a diff."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from reno_dspy.base.show import UNDEFINED
from tracking.compare.grid import Cell, Grid, Line
from tracking.compare.results import Result


@dataclass(frozen=True)
class PromptDiff:
    """How the prompt of the runs `label` differs from the baseline's, as lines of a unified diff."""

    label: str
    lines: Sequence[str]


def options_grid(results: Sequence[Result]) -> Grid | None:
    """The options that are not equal in all of our own runs; None where all are.

    Options that change together (a prompt's name and its digest) with the same values stand once.
    """
    own = [result for result in results if not result.published]
    names = dict.fromkeys(name for result in own for name in result.options)
    columns: dict[tuple[str, ...], str] = {}
    for name in names:
        values = tuple(_shown(result.options.get(name)) for result in own)
        if len(set(values)) > 1:
            columns.setdefault(values, name)
    lines = [
        Line(result.label, [Cell(values[number]) for values in columns])
        for number, result in enumerate(own)
    ]
    heads = ["Run", *columns.values()]
    return Grid("Options that differ", heads, lines, words=len(columns)) if columns else None


def prompt_diffs(results: Sequence[Result]) -> list[PromptDiff]:
    """Each other prompt against that of the first run that has one; runs with the same one together."""
    known = [(result.label, result.prompt) for result in results if result.prompt is not None]
    if not known:
        return []
    (baseline, first), *others = known
    labels: dict[str, list[str]] = {}
    for label, prompt in others:
        if prompt != first:
            labels.setdefault(prompt, []).append(label)
    return [
        PromptDiff(_together(names), _diff(first, prompt, baseline, _together(names)))
        for prompt, names in labels.items()
    ]


def _together(labels: Sequence[str]) -> str:
    """Some labels as one: of many, the first and how many more."""
    return ", ".join(labels) if len(labels) < 4 else f"{labels[0]} and {len(labels) - 1} others"


def _diff(first: str, other: str, baseline: str, label: str) -> list[str]:
    pair = (first.splitlines(), other.splitlines())
    return list(difflib.unified_diff(*pair, baseline, label, lineterm=""))


def _shown(value: str | None) -> str:
    return UNDEFINED if value in (None, "null", "") else str(value)
