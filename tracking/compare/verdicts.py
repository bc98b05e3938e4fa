"""The outcome of a comparison in plain words, to stand above its tables."""

from __future__ import annotations

from collections.abc import Sequence

from reno_dspy.base.show import UNDEFINED
from reno_dspy.jats.elements import SCORED
from reno_dspy.measure.measures import WHOLE
from reno_dspy.measure.result import OVERALL
from reno_dspy.measure.stats import Paired, in_words
from tracking.compare.changes import TITLES, Change
from tracking.compare.grid import Cell, Grid, Line
from tracking.compare.paired import Comparison

# More verdicts than these are a table.
MOST_SENTENCES = 3


def sentences(comparison: Comparison, changed: Sequence[Change]) -> str:
    """Whether a run is better than the baseline, by how much, in what, and on how many references."""
    whole, overall = (comparison.differences[name] for name in (WHOLE, OVERALL))
    gained, lost = _counts(changed)
    return " ".join(
        [
            f"{comparison.label} against {comparison.baseline}: {outcome(comparison)}.",
            f"Whole references right {_points(whole)} points ({_interval(whole)}), overall recall "
            f"{_points(overall)} points ({_interval(overall)}), on {comparison.n} references of "
            f"{comparison.articles} articles.",
            *(
                f"{word.capitalize()} in {names}."
                for word in ("better", "worse")
                if (names := _names(comparison, word))
            ),
            f"{gained} references became wholly right, {lost} no longer are.",
        ]
    )


def verdicts_grid(comparisons: Sequence[Comparison], changed: Sequence[Sequence[Change]]) -> Grid:
    """The same for many runs: a line each."""
    lines = []
    for comparison, found in zip(comparisons, changed, strict=True):
        whole, overall = (comparison.differences[name] for name in (WHOLE, OVERALL))
        cells = [
            Cell(_points(whole), _interval(whole)),
            Cell(_points(overall), _interval(overall)),
            *(Cell(str(count)) for count in _counts(found)),
            Cell(outcome(comparison)),
            *(Cell(_names(comparison, word) or UNDEFINED) for word in ("better", "worse")),
        ]
        lines.append(Line(comparison.label, cells, f"n = {comparison.n}"))
    heads = [
        "Run",
        "Whole references right, points",
        "Overall recall, points",
        "Became wholly right",
        "No longer wholly right",
        "Verdict",
        "Better in",
        "Worse in",
    ]
    return Grid(f"Against {comparisons[0].baseline}", heads, lines, words=3)


def outcome(comparison: Comparison) -> str:
    """The verdict: on whole references, then on overall recall."""
    said = [in_words(comparison.differences[name]) for name in (WHOLE, OVERALL)]
    sure = {word for word in said if word in ("better", "worse")}
    if len(sure) == 2:
        return f"{said[0]} in whole references, {said[1]} in overall recall"
    return sure.pop() if sure else next((word for word in said if "too few" in word), said[-1])


def _points(paired: Paired | None) -> str:
    return UNDEFINED if paired is None else f"{100 * paired.difference:+.1f}"


def _interval(paired: Paired | None) -> str:
    return "" if paired is None else f"{100 * paired.low:+.1f} to {100 * paired.high:+.1f}"


def _names(comparison: Comparison, word: str) -> str:
    """The fields and shares that are surely better, or worse."""
    return ", ".join(
        name if name in SCORED else TITLES[name].lower()
        for name, paired in comparison.differences.items()
        if name in TITLES and name != WHOLE and paired and paired.verdict == word
    )


def _counts(changed: Sequence[Change]) -> tuple[int, int]:
    gained = sum(WHOLE in change.gained for change in changed)
    return gained, sum(WHOLE in change.lost for change in changed)
