"""Annotate references with a system, as many as there are.

    reno annotate refs.txt --out refs.xml

Answers are appended to a log beside the output as they come, a window of references at a time, so that
memory does not grow with the file and a killed job resumes. The output is written from that log.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Literal
from xml.sax.saxutils import escape

from pydantic import Field

from reno_dspy.citation import read
from reno_dspy.config import Config
from reno_dspy.csl import to_csl
from reno_dspy.errors import InputError
from reno_dspy.progress import bar
from reno_dspy.rundir import JsonlLog, replacing
from reno_dspy.systems import Completion, System

# References a system is given at once: enough to keep it busy, little to hold or to lose.
WINDOW = 2_000
_ILLEGAL = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF])


class AnnotateConfig(Config):
    """Options of `reno annotate`."""

    free: ClassVar[frozenset[str]] = frozenset({"out", "format", "api_base", "concurrency"})

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


def annotate(config: AnnotateConfig, system: System, references: Iterable[str]) -> tuple[int, int]:
    """Annotate `references` into `config.out`; return how many, and how many of them failed.

    A failed or malformed answer is a row with `error` (JSON lines), or the plain text untagged (JATS).
    Raises InputError when an unfinished job for the same file had other input or another system.
    """
    log = JsonlLog(config.out.with_name(f"{config.out.name}.partial"))
    header = {"system": system.name, "identity": dict(system.identity())}
    source = iter(references)
    done = _skip_done(log, header, source)
    with log.appending() as out, bar(f"annotate {system.name}", None, done or 0) as progress:
        if done is None:
            out.write(header)
        while window := list(islice(source, WINDOW)):
            answers = asyncio.run(_answer(system, window, config.concurrency))
            for reference, completion in zip(window, answers, strict=True):
                out.write(_record(reference, completion))
            progress.advance(len(window))
    counts = _write(log, config)
    log.path.unlink()
    return counts


def read_references(lines: Iterable[str]) -> Iterator[str]:
    """The references of a text, one a line; blank lines are none."""
    return (line.strip() for line in lines if line.strip())


def _skip_done(log: JsonlLog, header: dict[str, Any], source: Iterator[str]) -> int | None:
    """Advance `source` past what `log` holds; return how many references that is, None for no log."""
    records = log.records()
    found = next(records, None)
    if found is None:
        return None
    remedy = f"Delete {log.path} to start over, or name another --out."
    if found != header:
        raise InputError(f"{log.path} is of an unfinished job with {found['system']}. {remedy}")
    done = 0
    for record in records:
        if next(source, None) != record["reference"]:
            raise InputError(f"{log.path} is of an unfinished job with other references. {remedy}")
        done += 1
    return done


async def _answer(
    system: System, references: list[str], concurrency: int | None
) -> list[Completion]:
    """Completions in order; batches are made of references of like length."""
    order = sorted(range(len(references)), key=lambda i: len(references[i]))
    size = system.batch_size
    batches = iter([order[i : i + size] for i in range(0, len(order), size)])
    answers: dict[int, Completion] = {}

    async def work() -> None:
        for batch in batches:
            completions = await system.annotate([references[i] for i in batch])
            answers.update(zip(batch, completions, strict=True))

    await asyncio.gather(*(work() for _ in range(concurrency or system.concurrency)))
    return [answers[i] for i in range(len(references))]


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
    total = failed = 0
    with replacing(config.out, "w") as file:
        file.write(begin)
        for total, record in enumerate(islice(log.records(), 1, None), start=1):
            failed += record["error"] is not None
            file.write((between if total > 1 else "") + _row(config.format, total, record))
        file.write(end)
    return total, failed


_FRAMES = {
    "jats": ("<?xml version='1.0' encoding='UTF-8'?>\n<ref-list>\n", "", "</ref-list>\n"),
    "jsonl": ("", "", ""),
    "csl": ("[\n", ",\n", "\n]\n"),
}


def _row(form: str, number: int, record: dict[str, Any]) -> str:
    if form == "jsonl":
        return json.dumps(record, ensure_ascii=False) + "\n"
    if form == "csl":
        item = to_csl(record["annotation"], f"ref{number}") if record["annotation"] else {
            "id": f"ref{number}", "type": "document", "title": record["reference"],
            "note": record["error"],
        }  # fmt: skip
        return json.dumps(item, ensure_ascii=False)
    plain = escape(record["reference"].translate(_ILLEGAL))
    citation = record["annotation"] or f"<mixed-citation>{plain}</mixed-citation>"
    return f'<ref id="ref{number}">{citation}</ref>\n'
