"""Annotate references with a system, as many as there are.

    reno annotate refs.txt --out refs.xml

Answers are appended to a log beside the output as they come, so that a killed job resumes. References are
read a window at a time, so that memory does not grow with the file; the output is written from the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from reno_dspy.annotate.files import SUFFIXES, Answer, Form
from reno_dspy.annotate.list_labels import Labelled, split_labels
from reno_dspy.annotate.log import AnswerIndex, locked_log
from reno_dspy.annotate.review import Written, threshold_for, write_apart
from reno_dspy.base.config import Free
from reno_dspy.base.errors import InputError
from reno_dspy.base.failures import MAX_ERRORS, FailureBudget, MaxErrors
from reno_dspy.base.jsonl import Appender, JsonlLog
from reno_dspy.base.progress import bar
from reno_dspy.jats.citation import read
from reno_dspy.jats.spans import ILLEGAL
from reno_dspy.jats.text import LONGEST
from reno_dspy.systems import Completion, System
from reno_dspy.systems.asking import Meter, ask_system
from reno_dspy.systems.options import SystemOptions

# References that are read at once for each worker: enough to make batches of like length, little to hold,
# and full batches of 64 and of 256.
WINDOW = 2_048


class AnnotateConfig(SystemOptions):
    """Options of `reno annotate`."""

    input: str = Field(description="References, one a line (- is standard input), or a PDF.")
    any_text: Free[bool] = Field(
        False, description="Annotate lines of which few have a year, which are hardly references."
    )
    out: Free[Path] = Field(
        Path("-"),
        description="File to write (- is standard output); an unfinished job for a file is resumed.",
    )
    system: str = Field("tagger", description="A system or a recipe (see below), or a file.")
    format: Free[Form | None] = Field(
        None,
        description="JATS <ref-list>, also with element-citations; JSON lines; CSL-JSON; BibTeX; RIS.  "
        "[default: by --out (.bib, .ris, .jsonl), else jats]",
    )
    confidence: Free[bool] = Field(
        False, description="Write the confidence in each value into JATS and CSL-JSON too."
    )
    review_below: Free[float | None] = Field(
        None,
        gt=0,
        le=1,
        description="Write references of less confidence apart, to OUT.review, the least sure first.",
    )
    accept: Free[float | None] = Field(
        None,
        gt=0,
        lt=1,
        description="Do so below the threshold above which this share was wholly right.",
    )
    max_errors: MaxErrors = MAX_ERRORS

    @model_validator(mode="after")
    def _one_threshold_for_a_file(self) -> Self:
        if self.review_below is not None and self.accept is not None:
            raise ValueError("--accept chooses the threshold that --review-below names: give one")
        if self.out == Path("-") and (self.review_below or self.accept):
            raise ValueError("the references to review go to a file beside --out: name one")
        return self

    @property
    def form(self) -> Form:
        """The format that was chosen, else that of the name of `out`."""
        return self.format or SUFFIXES.get(self.out.suffix.lower(), "jats")


@dataclass(frozen=True)
class _Job:
    """Reference number `index`, its label aside: systems are given the text alone."""

    index: int
    reference: Labelled

    @property
    def whole(self) -> str:
        """The reference with its label."""
        return "".join(self.reference)


def annotate(
    config: AnnotateConfig,
    system: System,
    references: Iterable[str],
    *,
    total: int | None = None,
    fresh: bool = False,
) -> Written:
    """Annotate `references` into `config.out`; return how many, and how many of them failed.

    `total` is how many there are, where that is known; `fresh` forgets an unfinished job. A failed or
    malformed answer is a row with `error` (JSON lines), or the plain text untagged (JATS).
    Raises InputError when an unfinished job for the same file had other input or another system, or
    another process works on it; JobError when too many answers fail (`FailureBudget`), and then the log
    is kept.
    """
    if config.out.exists() and not config.out.is_file():
        raise InputError(f"--out {config.out} is not a file; name a file to write.")
    below = config.review_below
    if config.accept is not None:
        below = threshold_for(config.accept, system)
    header = {"system": system.name, "identity": dict(system.identity())}
    with locked_log(config.out, fresh=fresh) as log:
        _answer_all(config, system, references, log, header, total)
        index = AnswerIndex(log, header)
        counts = write_apart(config.out, config.form, index, below, confidence=config.confidence)
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
        keeper = _Keeper(index, header, out, Meter(progress), budget)
        jobs = (_Job(i, reference) for i, reference in enumerate(split_labels(references)))
        windows = _windows(jobs, keeper)
        asyncio.run(_answer_windows(config, system, windows, keeper, progress.silent))
        index.check_count(keeper.count)


@dataclass
class _Keeper:
    """Writes what is known of a job to the log, and counts it."""

    index: AnswerIndex
    header: Mapping[str, Any]
    out: Appender
    meter: Meter
    budget: FailureBudget
    # How many references were read, answered before or now.
    count: int = 0

    def keep(self, job: _Job, completion: Completion) -> None:
        """Keep a system's answer, or its failure."""
        self._write(job, completion)
        self.budget.count(completion.error)

    def reject(self, job: _Job, problem: str) -> None:
        """Keep an error row without asking the system, which has not failed then."""
        self._write(job, Completion("", error=problem))

    def _write(self, job: _Job, completion: Completion) -> None:
        # Not before: a system that does not start must not bind the output to itself.
        if not self.index.started:
            self.out.write(self.header)
            self.index.started = True
        self.out.write({"index": job.index} | answer_of(job.reference, completion))
        self.meter.advance(completion)


async def _answer_windows(
    config: AnnotateConfig,
    system: System,
    windows: Iterator[list[_Job]],
    keeper: _Keeper,
    on_silence: Callable[[float], None],
) -> None:
    """Answer the jobs of all `windows`, one for each worker at a time."""
    started = False
    while several := list(islice(windows, config.workers)):
        pending = list(chain.from_iterable(several))
        if pending and not started:
            await system.start()
            started = True
        await ask_system(
            system,
            pending,
            lambda job: job.reference.text,
            keeper.keep,
            keeper.budget,
            concurrency=config.concurrency,
            on_silence=on_silence,
        )


def _windows(jobs: Iterator[_Job], keeper: _Keeper) -> Iterator[list[_Job]]:
    """The jobs that the system has to answer, a window at a time; `keeper` counts them all."""
    while window := list(islice(jobs, WINDOW)):
        keeper.count += len(window)
        # From a pipe, only as many references are known as were read.
        keeper.budget.total = max(keeper.budget.total, keeper.count)
        unanswered = [job for job in window if not keeper.index.has(job.index, job.whole)]
        yield _fit(unanswered, keeper.reject)


def _fit(jobs: Sequence[_Job], reject: Callable[[_Job, str], None]) -> list[_Job]:
    """The jobs that an annotation can hold, the longest first; `reject` gets the others, with the reason.

    Long ones need the most memory, and an LM the most time; references of one length make a batch.
    """
    fit = []
    for job in jobs:
        problem = unfit(job.whole)
        if problem is None:
            fit.append(job)
        else:
            reject(job, problem)
    return sorted(fit, key=lambda job: len(job.reference.text), reverse=True)


def unfit(reference: str) -> str | None:
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


def answer_of(reference: Labelled, completion: Completion) -> Answer:
    """What is known of a reference once a system has answered."""
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
    if error and completion.text:
        answer["completion"] = completion.text
    if completion.confidence is not None:
        found = completion.confidence.to_json()
        answer["confidence"], answer["values"] = found["confidence"], found["values"]
    return answer
