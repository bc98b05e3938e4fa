"""Annotate references with a system, as many as there are.

    reno annotate refs.txt --out refs.xml

Answers are appended to a log beside the output as they come, so that a killed job resumes. References are
read a window at a time, so that memory does not grow with the file; the output is written from the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

from pydantic import Field

from reno_dspy.annotating.files import Answer, Form, write_answers
from reno_dspy.annotating.list_labels import Labelled, split_labels
from reno_dspy.annotating.log import AnswerIndex, locked_log
from reno_dspy.base.config import Free
from reno_dspy.base.errors import InputError
from reno_dspy.base.failures import MAX_ERRORS, FailureBudget, MaxErrors
from reno_dspy.base.jsonl import JsonlLog
from reno_dspy.base.progress import Bar, bar
from reno_dspy.jats.citation import read
from reno_dspy.jats.spans import ILLEGAL
from reno_dspy.systems import Completion, System
from reno_dspy.systems.asking import ask_system
from reno_dspy.systems.options import SystemOptions

# References that are read at once: enough to make batches of like length, little to hold.
WINDOW = 2_000
# The longest real references have some 2,000 characters. Longer lines are text without line ends, on which
# a model whose attention is quadratic spends minutes.
LONGEST = 5_000


class AnnotateConfig(SystemOptions):
    """Options of `reno annotate`."""

    input: str = Field(description="References, one a line (- is standard input), or a PDF.")
    out: Free[Path] = Field(
        Path("-"),
        description="File to write (- is standard output); an unfinished job for a file is resumed.",
    )
    system: str = Field("tagger", description="A system or a recipe (see below), or a file.")
    format: Free[Form] = Field("jats", description="JATS <ref-list>, JSON lines, or CSL-JSON.")
    max_errors: MaxErrors = MAX_ERRORS


@dataclass(frozen=True)
class _Job:
    """Reference number `index`, its label aside: systems are given the text alone."""

    index: int
    reference: Labelled


def annotate(
    config: AnnotateConfig,
    system: System,
    references: Iterable[str],
    *,
    total: int | None = None,
    fresh: bool = False,
) -> tuple[int, int]:
    """Annotate `references` into `config.out`; return how many, and how many of them failed.

    `total` is how many there are, where that is known; `fresh` forgets an unfinished job. A failed or
    malformed answer is a row with `error` (JSON lines), or the plain text untagged (JATS).
    Raises InputError when an unfinished job for the same file had other input or another system, or
    another process works on it; JobError when too many answers fail (`FailureBudget`), and then the log
    is kept.
    """
    if config.out.exists() and not config.out.is_file():
        raise InputError(f"--out {config.out} is not a file; name a file to write.")
    header = {"system": system.name, "identity": dict(system.identity())}
    with locked_log(config.out, fresh=fresh) as log:
        _answer_all(config, system, references, log, header, total)
        counts = _write(config, AnswerIndex(log, header))
        log.path.unlink()
    return counts


def read_references(lines: Iterable[str]) -> Iterator[str]:
    """The references of a text, one a line; blank lines are none."""
    return (line.strip() for line in lines if line.strip())


def _answer_all(
    config: AnnotateConfig,
    system: System,
    references: Iterable[str],
    log: JsonlLog,
    header: Mapping[str, Any],
    total: int | None,
) -> None:
    index = AnswerIndex(log, header)
    budget = FailureBudget(config.max_errors, total or 0)
    title = f"annotate {system.name}"
    with log.appending() as out, bar(title, total, done=index.answered) as progress:
        rate = _Rate(progress)

        def keep(job: _Job, completion: Completion) -> None:
            # Not before: a system that does not start must not bind the output to itself.
            if not index.started:
                out.write(header)
                index.started = True
            out.write({"index": job.index} | _answer(job.reference, completion))
            rate.advance(completion)

        def keep_and_count(job: _Job, completion: Completion) -> None:
            keep(job, completion)
            budget.count(completion.error)

        async def answer() -> int:
            """Answer window after window; how many references there were."""
            count, started = 0, False
            jobs = (_Job(i, reference) for i, reference in enumerate(split_labels(references)))
            while window := list(islice(jobs, WINDOW)):
                count += len(window)
                # From a pipe, only as many references are known as were read.
                budget.total = max(budget.total, count)
                pending = _fit(
                    [job for job in window if not index.has(job.index, "".join(job.reference))],
                    keep,
                )
                if pending and not started:
                    await system.start()
                    started = True
                await ask_system(
                    system,
                    pending,
                    lambda job: job.reference.text,
                    keep_and_count,
                    budget,
                    concurrency=config.concurrency,
                    on_silence=progress.silent,
                )
            return count

        index.check_count(asyncio.run(answer()))


def _fit(jobs: Sequence[_Job], reject: Callable[[_Job, Completion], None]) -> list[_Job]:
    """The jobs that an annotation can hold, the longest first; the others go to `reject` as error rows.

    Long ones need the most memory, and an LM the most time; references of one length make a batch.
    """
    fit = []
    for job in jobs:
        problem = _unfit("".join(job.reference))
        if problem is None:
            fit.append(job)
        else:
            # The system is not asked about it, so that it is no failure of the system.
            reject(job, Completion("", error=problem))
    return sorted(fit, key=lambda job: len(job.reference.text), reverse=True)


def _write(config: AnnotateConfig, index: AnswerIndex) -> tuple[int, int]:
    with bar(f"write {config.out.name}", len(index)) as progress:

        def answers() -> Iterator[Answer]:
            for answer in index.answers():
                yield answer
                progress.advance()

        return write_answers(config.out, config.format, answers())


class _Rate:
    """Moves the bar by each answer and shows speed and failures beside it."""

    def __init__(self, progress: Bar) -> None:
        self._progress = progress
        self._answers = self._errors = 0
        self._start = perf_counter()

    def advance(self, completion: Completion) -> None:
        self._answers += 1
        self._errors += completion.error is not None
        rate = self._answers / max(perf_counter() - self._start, 1e-9)
        shown = f"{rate:,.{0 if rate >= 10 else 1}f} references/s"
        self._progress.advance(note=f"{shown}, {self._errors} errors")


def _unfit(reference: str) -> str | None:
    """Why no annotation can hold `reference`; None where one can."""
    if len(reference) > LONGEST:
        return (
            f"{len(reference):,} characters are no reference (at most {LONGEST:,}); put each on a line "
            "of its own"
        )
    if (found := ILLEGAL.search(reference)) is None:
        return None
    code = ord(found.group())
    if 0xDC80 <= code <= 0xDCFF:  # how Python reads a byte that is not UTF-8
        return f"byte 0x{code - 0xDC00:02X} at character {found.start()} is not UTF-8"
    return f"character {found.group()!r} at {found.start()} cannot stand in XML"


def _answer(reference: Labelled, completion: Completion) -> Answer:
    reading = read(completion.text)
    error = completion.error
    if error is None and not reading.well_formed:
        error = f"malformed XML: {reading.problem}"
    answer = Answer(
        label=reference.label,
        text=reference.text,
        annotation=reading.xml if error is None else None,
        error=error,
    )
    return answer | ({"completion": completion.text} if error and completion.text else {})
