"""Annotate references with a system, as many as there are.

    reno annotate refs.txt --out refs.xml

Answers are appended to a log beside the output as they come, so that a killed job resumes; references
are read a window at a time, so that memory does not grow with the file. The output is written from the log.
"""

from __future__ import annotations

import asyncio
import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Literal
from xml.sax.saxutils import escape

from pydantic import Field

from reno_dspy.citation import read
from reno_dspy.config import Config
from reno_dspy.csl import to_csl
from reno_dspy.errors import InputError, JobError
from reno_dspy.evaluate import HOPELESS
from reno_dspy.progress import Bar, bar
from reno_dspy.rundir import JsonlLog, replacing
from reno_dspy.systems import Completion, System

# References a system is given at once: enough to keep it busy, little to hold or to lose.
WINDOW = 2_000
_ILLEGAL = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF])


class AnnotateConfig(Config):
    """Options of `reno annotate`."""

    free: ClassVar[frozenset[str]] = frozenset(
        {"out", "format", "api_base", "concurrency", "max_errors"}
    )

    input: str = Field(description="References, one a line (- is standard input), or a PDF.")
    out: Path = Field(description="File to write; an unfinished job for it is resumed.")
    system: str = Field("crf", description="System, as in `reno evaluate`.")
    format: Literal["jats", "jsonl", "csl"] = Field(
        "jats", description="JATS <ref-list>, JSON lines, or CSL-JSON."
    )
    prompt: str | None = Field(None, description="Prompt: a name that ships, or a prompt file.")
    adapter: Path | None = Field(None, description="Output directory of `reno finetune` to use.")
    api_base: str | None = Field(None, description="Endpoint of the system, over its recipe's.")
    max_tokens: int | None = Field(None, ge=1, description="Longest answer, over the recipe's.")
    concurrency: int | None = Field(None, ge=1, description="Calls at once, over the system's.")
    max_errors: float = Field(
        0.5, ge=0, le=1, description="Stop when more than this share of 20 or more answers fails."
    )


def annotate(config: AnnotateConfig, system: System, references: Iterable[str]) -> tuple[int, int]:
    """Annotate `references` into `config.out`; return how many, and how many of them failed.

    A failed or malformed answer is a row with `error` (JSON lines), or the plain text untagged (JATS).
    Raises InputError when an unfinished job for the same file had other input or another system,
    JobError when more than `max_errors` of at least twenty answers fail; the log is kept then.
    """
    log = JsonlLog(config.out.with_name(f"{config.out.name}.partial"))
    header = {"system": system.name, "identity": dict(system.identity())}
    known = _Known(log, header)
    with log.appending() as out, bar(f"annotate {system.name}", None) as progress:
        if not known.started:
            out.write(header)
        meter = _Meter(progress, config.max_errors)

        def keep(index: int, reference: str, completion: Completion) -> None:
            out.write({"index": index} | _record(reference, completion))
            meter.count(completion)

        numbered = enumerate(references)
        while window := list(islice(numbered, WINDOW)):
            pending = [one for one in window if not known.has(*one)]
            progress.advance(len(window) - len(pending))
            asyncio.run(_answer(system, pending, config.concurrency, keep, meter))
            if meter.verdict is not None:
                raise meter.verdict
    counts = _write(log, config)
    log.path.unlink()
    return counts


def read_references(lines: Iterable[str]) -> Iterator[str]:
    """The references of a text, one a line; blank lines are none."""
    return (line.strip() for line in lines if line.strip())


class _Known:
    """What an unfinished job's log holds: the place of each reference's last record, on disk."""

    def __init__(self, log: JsonlLog, header: Mapping[str, Any]) -> None:
        self._log = log
        records = log.places()
        first = next(records, None)
        self.started = first is not None
        if first is not None and first[1] != header:
            raise self._refusal(f"with {first[1].get('system')}, or with other options")
        self.places = array("q")
        self._failed: set[int] = set()
        for place, record in records:
            index = record["index"]
            self.places.extend([-1] * (index + 1 - len(self.places)))
            self.places[index] = place
            (self._failed.add if record["error"] else self._failed.discard)(index)

    def has(self, index: int, reference: str) -> bool:
        """Whether `reference` is answered. Raises InputError when another one has its number."""
        if index >= len(self.places) or self.places[index] < 0:
            return False
        if self._log.at(self.places[index])["reference"] != reference:
            raise self._refusal("with other references")
        return index not in self._failed

    def _refusal(self, what: str) -> InputError:
        path = self._log.path
        return InputError(
            f"{path} is of an unfinished job {what}. Start over with --fresh, or name another --out."
        )


class _Meter:
    """Counts answers on the bar; has a `verdict` once too many have failed."""

    verdict: JobError | None = None

    def __init__(self, progress: Bar, max_errors: float) -> None:
        self._progress, self._max_errors = progress, max_errors
        self._answers = self._errors = 0

    def count(self, completion: Completion) -> None:
        self._answers += 1
        self._errors += completion.error is not None
        self._progress.advance(note=f"{self._errors} errors")
        if self._answers >= HOPELESS and self._errors > self._max_errors * self._answers:
            self.verdict = JobError(
                f"{self._errors} of {self._answers} references failed, more than --max-errors "
                f"{self._max_errors:g} allows. The last reason: {completion.error}\nWhat was answered "
                "is kept; the same command resumes. --max-errors 1 writes failures as error rows."
            )


async def _answer(
    system: System,
    pending: Sequence[tuple[int, str]],
    concurrency: int | None,
    keep: Callable[[int, str, Completion], None],
    meter: _Meter,
) -> None:
    """Hand every answer to `keep` as it comes; batches are made of references of like length.

    A verdict of `meter` ends it, once what is under way has come.
    """
    order = sorted(pending, key=lambda one: len(one[1]))
    size = system.batch_size
    batches = iter([order[i : i + size] for i in range(0, len(order), size)])

    async def work() -> None:
        while meter.verdict is None and (batch := next(batches, None)):
            completions = await system.annotate([reference for _, reference in batch])
            for (index, reference), completion in zip(batch, completions, strict=True):
                keep(index, reference, completion)

    await asyncio.gather(*(work() for _ in range(concurrency or system.concurrency)))


def _record(reference: str, completion: Completion) -> dict[str, Any]:
    reading = read(completion.text)
    error = completion.error
    if error is None and not reading.well_formed:
        error = f"malformed XML: {reading.problem}"
    annotation = reading.xml if error is None else None
    record = {"reference": reference, "annotation": annotation, "error": error}
    return record | ({"completion": completion.text} if error and completion.text else {})


def _write(log: JsonlLog, config: AnnotateConfig) -> tuple[int, int]:
    """Write the output from the log, a row at a time; return how many rows, and how many failed."""
    begin, between, end = _FRAMES[config.format]
    header = next(log.records())
    places = _Known(log, header).places
    failed = 0
    with replacing(config.out, "w") as file:
        file.write(begin)
        for number, place in enumerate(places, start=1):
            record = log.at(place)
            failed += record["error"] is not None
            file.write((between if number > 1 else "") + _row(config.format, number, record))
        file.write(end)
    return len(places), failed


_FRAMES = {
    "jats": ("<?xml version='1.0' encoding='UTF-8'?>\n<ref-list>\n", "", "</ref-list>\n"),
    "jsonl": ("", "", ""),
    "csl": ("[\n", ",\n", "\n]\n"),
}


def _row(form: str, number: int, record: dict[str, Any]) -> str:
    if form == "jsonl":
        shown = {name: value for name, value in record.items() if name != "index"}
        return json.dumps(shown, ensure_ascii=False) + "\n"
    if form == "csl":
        item = to_csl(record["annotation"], f"ref{number}") if record["annotation"] else {
            "id": f"ref{number}", "type": "document", "title": record["reference"],
            "note": record["error"],
        }  # fmt: skip
        return json.dumps(item, ensure_ascii=False)
    plain = escape(record["reference"].translate(_ILLEGAL))
    citation = record["annotation"] or f"<mixed-citation>{plain}</mixed-citation>"
    return f'<ref id="ref{number}">{citation}</ref>\n'
