"""All that a comparison has to show, whatever it is shown as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tracking.compare.changes import Change, changes
from tracking.compare.differing import PromptDiff, options_grid, prompt_diffs
from tracking.compare.grid import Grid, comparison_grid, score_grids
from tracking.compare.paired import Comparison
from tracking.compare.results import Result
from tracking.compare.verdicts import MOST_SENTENCES, sentences, verdicts_grid


@dataclass(frozen=True)
class Compared:
    """What was compared, and where it was written. `results` begins with our own runs.

    `warning` names what does not compare, if that was allowed.
    """

    results: Sequence[Result]
    comparisons: Sequence[Comparison]
    out: Path
    warning: str | None = None

    @property
    def own(self) -> list[Result]:
        """The runs without the paper's rows."""
        return [result for result in self.results if not result.published]

    @cached_property
    def changed(self) -> list[list[Change]]:
        """Of each comparison, the references whose answer changed between right and wrong."""
        return [changes(comparison) for comparison in self.comparisons]

    @property
    def title(self) -> str:
        """The runs by their labels; of many, their number and the data."""
        own = self.own
        if len(own) > MOST_SENTENCES + 1:
            return f"{len(own)} runs on {own[0].report.data}"
        return " · ".join(result.label for result in own)

    @property
    def verdicts(self) -> list[str]:
        """The outcome of each comparison in sentences; of many, `grids` begins with a table of them."""
        if len(self.comparisons) > MOST_SENTENCES:
            return []
        pairs = zip(self.comparisons, self.changed, strict=True)
        return [sentences(comparison, found) for comparison, found in pairs]

    @property
    def grids(self) -> list[Grid]:
        """All tables, in order: many verdicts, the options that differ, scores, paired differences."""
        many = len(self.comparisons) > MOST_SENTENCES
        options = options_grid(self.results)
        return [
            *([verdicts_grid(self.comparisons, self.changed)] if many else []),
            *([options] if options else []),
            *score_grids(self.results),
            *map(comparison_grid, self.comparisons),
        ]

    @property
    def prompts(self) -> list[PromptDiff]:
        """How prompts differ from the first one."""
        return prompt_diffs(self.own)
