"""From stored predictions of several systems to ballots, one a reference."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reno_dspy.base.errors import InputError
from reno_dspy.measure.audit.votes import Ballot, ballot
from reno_dspy.measure.files import REPORT
from reno_dspy.measure.records import by_question, read_predictions
from reno_dspy.measure.result import read_report


def read_ballots(predictions: Sequence[Path]) -> list[Ballot]:
    """Ballots on the references that all of `predictions` (files or run directories) answered.

    Raises InputError for fewer than two of them, and where they have no reference in common.
    """
    if len(predictions) < 2:
        raise InputError("An audit needs the predictions of at least two systems.")
    answers = {
        name: by_question(read_predictions(path))
        for name, path in zip(_names(predictions), predictions, strict=True)
    }
    first, *others = answers.values()
    common = [key for key in first if all(key in other for other in others)]
    ballots = [
        ballot(
            first[key], {name: found[key]["prediction"] or "" for name, found in answers.items()}
        )
        for key in common
    ]
    known = [one for one in ballots if one is not None]
    if not known:
        raise InputError(
            "These predictions have no reference in common; audit runs on the same data."
        )
    return known


def _names(paths: Sequence[Path]) -> list[str]:
    """The systems by name; where that is not known or two are the same, by folder or file."""
    names = [_name(path) for path in paths]
    return [
        name if names.count(name) == 1 else str(path)
        for name, path in zip(names, paths, strict=True)
    ]


def _name(path: Path) -> str:
    if (path / REPORT).is_file():
        return read_report(path).system or path.name
    return path.resolve().name
