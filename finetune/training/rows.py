"""Pairs -> training rows, through the same rendering that inference uses.

A row's prompt is what `programs.chat_format.render_messages` gives, byte for byte; its completion is the
gold projected in place onto the plain text, so that fidelity is learnt. What could not be used is
counted, by reason.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from finetune.recipe import FinetuneConfig
from programs.chat_format import render_messages
from programs.prompts import Prompt
from reno_dspy.data.dataset import Row
from reno_dspy.data.lessons import Lesson, lesson_of
from reno_dspy.data.noise import Noise, add_noise
from reno_dspy.jats.elements import SCORED
from reno_dspy.jats.spans import render
from reno_dspy.systems.repair import as_read


@dataclass(frozen=True)
class TrainingRow:
    """Chat messages that ask, and the answer to learn."""

    prompt: list[dict[str, str]]
    completion: str


@dataclass
class RowsReport:
    """How many rows came in and are used, why others are not, and which values found no place.

    `cleaned` counts the values of used rows that each rule of `reno_dspy.jats.clean` changed.
    """

    given: int = 0
    used: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    unplaced: Counter[str] = field(default_factory=Counter)
    cleaned: Counter[str] = field(default_factory=Counter)

    def leave_out_long(self, kept: int) -> None:
        """Only `kept` of the used rows are short enough; the others count as `too_long`."""
        if kept < self.used:
            self.dropped["too_long"] = self.used - kept
        self.used = kept

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "given": self.given,
            "used": self.used,
            "dropped": dict(sorted(self.dropped.items())),
            "unplaced_values": dict(sorted(self.unplaced.items())),
            "cleaned_values": dict(sorted(self.cleaned.items())),
        }


def make_rows(
    rows: Iterable[Row],
    prompt: Prompt,
    *,
    licences: Sequence[str] = (),
    complete_only: bool = True,
    noise: Noise | None = None,
    seed: int = 0,
) -> tuple[list[TrainingRow], RowsReport]:
    """Training rows in the order of `rows`, and what became of the others, as `make_lessons` does."""
    lessons, report = make_lessons(
        rows, licences=licences, complete_only=complete_only, noise=noise, seed=seed
    )
    made = [
        TrainingRow(
            render_messages(prompt, one.plaintext),
            render(one.plaintext, one.spans, one.publication_type),
        )
        for one in lessons
    ]
    return made, report


def make_lessons(
    rows: Iterable[Row],
    *,
    licences: Sequence[str] = (),
    complete_only: bool = True,
    noise: Noise | None = None,
    seed: int = 0,
) -> tuple[list[Lesson], RowsReport]:
    """What `rows` teach, in their order, and what became of those that teach nothing.

    `licences` (empty: any) are those a row must have; `complete_only` leaves out rows of whose scored
    fields a value found no place in the text, since they would teach to omit it.
    """
    report = RowsReport()
    lessons = []
    for number, row in enumerate(rows):
        report.given += 1
        rng = random.Random(f"{seed}:{number}")
        found = _lesson(row, licences, complete_only, noise or Noise(), rng, report)
        if isinstance(found, str):
            report.dropped[found] += 1
        else:
            lessons.append(found)
    report.used = len(lessons)
    return lessons, report


def lessons_of(rows: Iterable[Row], config: FinetuneConfig) -> tuple[list[Lesson], RowsReport]:
    """What `rows` teach a tagger under `config`, as `make_lessons`, in the form it reads references in."""
    lessons, report = make_lessons(
        rows,
        licences=config.licences,
        complete_only=config.complete_only,
        noise=config.noise,
        seed=config.seed,
    )
    return [as_read(lesson) for lesson in lessons], report


def drop_long(
    rows: Sequence[TrainingRow], tokenizer: Any, max_length: int, report: RowsReport
) -> list[TrainingRow]:
    """The rows of at most `max_length` tokens. Nothing is cut; longer rows count as `too_long`."""
    kept = [row for row in rows if length_of(row, tokenizer) <= max_length]
    report.leave_out_long(len(kept))
    return kept


def length_of(row: TrainingRow, tokenizer: Any) -> int:
    """Tokens of prompt and completion together, as they are trained on."""
    turns = [*row.prompt, {"role": "assistant", "content": row.completion}]
    return len(tokenizer.apply_chat_template(turns, return_dict=False))


def to_records(rows: Sequence[TrainingRow], thinking: bool | None) -> list[dict[str, Any]]:
    """TRL's prompt/completion records; `thinking` becomes the chat template's `enable_thinking`."""
    extra = {} if thinking is None else {"chat_template_kwargs": {"enable_thinking": thinking}}
    return [
        {
            "prompt": row.prompt,
            "completion": [{"role": "assistant", "content": row.completion}],
            **extra,
        }
        for row in rows
    ]


def _lesson(
    row: Row,
    licences: Sequence[str],
    complete_only: bool,
    noise: Noise,
    rng: random.Random,
    report: RowsReport,
) -> Lesson | str:
    """What the row teaches, or the reason why it teaches nothing."""
    if licences and row.licence not in licences:
        return "licence"
    lesson = lesson_of(row)
    if isinstance(lesson, str):
        return lesson
    report.unplaced.update(lesson.missing)
    if complete_only and any(name in SCORED for name in lesson.missing):
        return "incomplete"
    if not lesson.spans:
        return "no_fields"
    report.cleaned.update(lesson.cleaned)
    reference, spans = add_noise(lesson.plaintext, lesson.spans, noise, rng)
    return replace(lesson, plaintext=reference, spans=tuple(spans))
