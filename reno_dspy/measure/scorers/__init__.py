"""Scorers of other projects, so that our figures can stand beside theirs: `reno score --scorer NAME`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from reno_dspy.measure.records import Record
from reno_dspy.measure.scorers.figures import Figures
from reno_dspy.measure.scorers.grobid import score as grobid
from reno_dspy.measure.scorers.odoma import score as odoma

SCORERS: Mapping[str, Callable[[Sequence[Record]], Figures]] = {"grobid": grobid, "odoma": odoma}
