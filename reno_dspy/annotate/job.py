"""Annotate references with a system, as many as there are.

    reno annotate refs.txt --out refs.xml

Answers are appended to a log beside the output as they come, so that a killed job resumes; references
are read a window at a time, so that memory does not grow with the file. The output is written from the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

from pydantic import Field

from reno_dspy.annotate.files import Answer, Form, write_answers
from reno_dspy.annotate.list_labels import Labelled, split_labels
from reno_dspy.annotate.log import Known, alone
from reno_dspy.base.errors import HOPELESS, InputError, JobError
from reno_dspy.base.jsonl import JsonlLog
from reno_dspy.base.progress import Bar, bar
from reno_dspy.jats.citation import MAX_CHARACTERS, read
from reno_dspy.jats.spans import ILLEGAL
from reno_dspy.systems import Completion, System
from reno_dspy.systems.options import SystemOptions

# References a system is given at once: enough to keep it busy, little to hold or to lose.
WINDOW = 2_000
# Longer than this is no reference but a file without line ends; tags make it longer still.
_LONGEST = MAX_CHARACTERS // 10


class AnnotateConfig(SystemOptions):
    """Options of `reno annotate`."""

    free: ClassVar[frozenset[str]] = frozenset(
        {"out", "format", "api_base", "concurrency", "max_errors"}
    )

    input: str = Field(description="References, one a line (- is standard input), or a PDF.")
    out: Path = Field(description="File to write; an unfinished job for it is resumed.")
    system: str = Field("tagger", description="System, as in `reno evaluate`.")
    format: Form = Field("jats", description="JATS <ref-list>, JSON lines, or CSL-JSON.")
    max_errors: float = Field(
        0.5, ge=0, le=1, description="Stop when more than this share of 20 or more answers fails."
    )


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
    another process is at it; JobError when more than `max_errors` of at least twenty answers fail (the
    log is kept then).
    """
    if config.out.exists() and not config.out.is_file():
        raise InputError(f"--out {config.out} is not a file; name a file to write.")
    header = {"system": system.name, "identity": dict(system.identity())}
    with alone(config.out, fresh=fresh) as log:
        _answer_all(config, system, references, log, header, total)
        counts = _write(config, Known(log, header))
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
    known = Known(log, header)
    title = f"annotate {system.name}"
    with log.appending() as out, bar(title, total, done=known.answered) as progress:
        if not known.started:
            out.write(header)
        meter = _Meter(progress, config.max_errors)

        def keep(job: _Job, completion: Completion) -> None:
            out.write({"index": job.index} | _answer(job.reference, completion))
            meter.count(completion)

        async def answer() -> int:
            count = 0
            jobs = (_Job(i, reference) for i, reference in enumerate(split_labels(references)))
            while window := list(islice(jobs, WINDOW)):
                count += len(window)
                pending = [
                    job for job in window if not known.has(job.index, "".join(job.reference))
                ]
                if pending:
                    await system.start()
                await _answer_window(system, pending, config.concurrency, keep, meter)
                if meter.verdict is not None:
                    raise meter.verdict
            return count

        known.check_count(asyncio.run(answer()))


def _write(config: AnnotateConfig, known: Known) -> tuple[int, int]:
    with bar(f"write {config.out.name}", len(known)) as progress:

        def answers() -> Iterator[Answer]:
            for answer in known.answers():
                yield answer
                progress.advance()

        return write_answers(config.out, config.format, answers())


class _Meter:
    """Counts answers on the bar; has a `verdict` once too many have failed."""

    verdict: JobError | None = None

    def __init__(self, progress: Bar, max_errors: float) -> None:
        self._progress, self._max_errors = progress, max_errors
        self._answers = self._errors = 0
        self._start = perf_counter()

    def count(self, completion: Completion) -> None:
        self._answers += 1
        self._errors += completion.error is not None
        rate = self._answers / (perf_counter() - self._start)
        shown = f"{rate:,.{0 if rate >= 10 else 1}f} references/s"
        self._progress.advance(note=f"{shown}, {self._errors} errors")
        if self._answers >= HOPELESS and self._errors > self._max_errors * self._answers:
            self.verdict = JobError(
                f"{self._errors} of {self._answers} references failed, more than --max-errors "
                f"{self._max_errors:g} allows. The last reason: {completion.error}\nWhat was answered "
                "is kept; the same command resumes. --max-errors 1 writes failures as error rows."
            )


async def _answer_window(
    system: System,
    pending: Sequence[_Job],
    concurrency: int | None,
    keep: Callable[[_Job, Completion], None],
    meter: _Meter,
) -> None:
    """Hand every answer to `keep` as it comes; batches are made of references of like length.

    A verdict of `meter` ends it, once what is under way has come.
    """
    problems = {job: _unfit("".join(job.reference)) for job in pending}
    fit = [job for job in pending if problems[job] is None]
    # The longest first: they need the most memory, and an LM the most time.
    order = sorted(fit, key=lambda job: len(job.reference.text), reverse=True)
    size = system.batch_size
    batches = iter([order[i : i + size] for i in range(0, len(order), size)])

    async def work() -> None:
        while meter.verdict is None and (batch := next(batches, None)):
            completions = await system.annotate([job.reference.text for job in batch])
            for job, completion in zip(batch, completions, strict=True):
                keep(job, completion)

    await asyncio.gather(*(work() for _ in range(concurrency or system.concurrency)))
    # Last, so that a few of them in a window are no verdict on the system.
    for job, problem in problems.items():
        if meter.verdict is None and problem is not None:
            keep(job, Completion("", error=problem))


def _unfit(reference: str) -> str | None:
    """Why no annotation can hold `reference`; None where one can."""
    if len(reference) > _LONGEST:
        return f"{len(reference):,} characters are no reference: one a line is expected"
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
