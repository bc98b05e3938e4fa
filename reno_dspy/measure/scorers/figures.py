"""What a scorer found: tables of percentages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reno_dspy.base.show import percent


@dataclass(frozen=True)
class Counted:
    """Matched values (a sum of similarities, for some scorers), predicted ones, and those in the gold."""

    matched: float = 0
    predicted: float = 0
    gold: float = 0

    def __add__(self, other: Counted) -> Counted:
        return Counted(
            self.matched + other.matched, self.predicted + other.predicted, self.gold + other.gold
        )

    @property
    def precision(self) -> float | None:
        """In percent; None where nothing was predicted."""
        return percent(self.matched, self.predicted)

    @property
    def recall(self) -> float | None:
        """In percent; None where the gold has nothing."""
        return percent(self.matched, self.gold)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of both, in percent."""
        return percent(2 * self.matched, self.predicted + self.gold)


def total(counts: Iterable[Counted]) -> Counted:
    """The sum of counts."""
    return sum(counts, Counted())


@dataclass(frozen=True)
class Rows:
    """One table: a title, and by label precision, recall, F1 (percent) and the number in the gold."""

    title: str
    rows: Mapping[str, tuple[float | None, float | None, float | None, int | None]]


@dataclass(frozen=True)
class Figures:
    """All tables of a scorer over `n` references; `note` says what it is."""

    scorer: str
    n: int
    note: str
    tables: Sequence[Rows]

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        heads = ("precision", "recall", "f1", "gold")
        return {
            "scorer": self.scorer,
            "n": self.n,
            "note": self.note,
            "tables": {
                table.title: {
                    label: dict(zip(heads, row, strict=True)) for label, row in table.rows.items()
                }
                for table in self.tables
            },
        }


def row(count: Counted) -> tuple[float | None, float | None, float | None, int | None]:
    """A line of `Rows` from counts."""
    return count.precision, count.recall, count.f1, round(count.gold)
