"""`reno annotate` on a large file: references per second, memory over time, and a kill -9 midway.

    python benchmarks/annotating.py --data ../shared/data
    python benchmarks/annotating.py --data ../shared/data --system tagger --references 2000
    python benchmarks/annotating.py --data ../shared/data --on local:1 --on local:2 --on ray:2
    python benchmarks/annotating.py --data ../shared/data --references 0 --on local:1 --on ray:1 --on ray:4

The file's lines are the references of `--data`, again and again under other numbers, so that no two are
alike. The command runs undisturbed on each `--on` (engine and workers), while the memory of its processes
is sampled; every file must be the first one's, byte for byte. Then one is killed at a third of the
answers, and another resumes it to the same bytes. With several `--on`, the engines are measured first:
how long it takes to give a worker a batch of 64 and to get it back. With no references, that is all.
"""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from statistics import mean
from typing import cast

import click
import psutil

from reno_dspy.annotate.job import answer_of
from reno_dspy.annotate.list_labels import Labelled
from reno_dspy.base.engine import EngineName, open_engine
from reno_dspy.data.sources import read_records
from reno_dspy.systems.crf.model import Crf

FILES = ("scielo", "ore", "pmc")
KILL_AT = 1 / 3
MIB = 2**20
# References that travel together, and how often.
BATCH, BATCHES = 64, 500


@dataclass(frozen=True)
class Sample:
    """Seconds since the start, answers in the log, bytes resident of the process and its children."""

    seconds: float
    answers: int
    resident: int


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--system", default="crf", show_default=True)
@click.option("--adapter", help="A tagger of one's own, for --system tagger.")
@click.option("--references", default=100_000, show_default=True)
@click.option("--on", multiple=True, default=["local:1"], show_default=True, metavar="ENGINE:N")
@click.option("--every", default=0.5, show_default=True, help="Seconds between two samples.")
def main(
    data: Path,
    system: str,
    adapter: str | None,
    references: int,
    on: tuple[str, ...],
    every: float,
) -> None:
    """Print the figures; fail when something is lost, repeated, or grows by more than a tenth."""
    if len(on) > 1:
        some = list(islice(numbered_references(data), 16 * BATCH))
        shares(some)
        for name in on:
            overhead(name, some[:BATCH])
    if not references:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, whole, cut = (folder / file for file in ("refs.txt", "whole.jsonl", "cut.jsonl"))
        lines = list(islice(numbered_references(data), references))
        source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        options = ["--system", system, *(["--adapter", adapter] if adapter else [])]
        options += ["--format", "jsonl"]
        grown = compare(source, whole, options, on, references, every)
        last = [*options, *workers(on[-1])]
        click.echo(f"killed at {interrupt(start(source, cut, last), cut, references)} answers")
        if start(source, cut, last).wait() != 0:
            raise click.ClickException("The resumed run failed.")
        check(whole, cut, lines)
        if abs(grown) > 0.1:
            raise click.ClickException(f"Memory changed by {grown:+.0%}.")


def overhead(name: str, references: list[str]) -> None:
    """Print what it costs to give an engine a batch: references travel both ways, and nothing is done."""
    engine, _, count = name.partition(":")
    with open_engine(cast(EngineName, engine), int(count)) as opened:
        list(map(Future.result, [opened.submit(copy.copy, references) for _ in range(50)]))
        started = time.perf_counter()
        list(map(Future.result, [opened.submit(copy.copy, references) for _ in range(BATCHES)]))
        each = (time.perf_counter() - started) / BATCHES
    click.echo(f"{name}: {each * 1e3:.2f} ms a batch of {len(references)} that asks for nothing")


def shares(references: Sequence[str]) -> None:
    """Print the CRF's CPU time, and that of its parent, which receives, reads and writes the answers."""
    started = time.process_time()
    answers = asyncio.run(Crf().annotate(references))
    made = time.process_time()
    for reference, one in zip(references, pickle.loads(pickle.dumps(answers)), strict=True):
        json.dumps(answer_of(Labelled("", reference), one), ensure_ascii=False)
    kept = time.process_time()
    click.echo(
        f"CPU a reference: the CRF {(made - started) / len(references) * 1e3:.2f} ms, its parent "
        f"{(kept - made) / len(references) * 1e3:.2f} ms"
    )


def compare(
    source: Path,
    whole: Path,
    options: Sequence[str],
    on: Sequence[str],
    references: int,
    every: float,
) -> float:
    """Print the figures of an undisturbed run on each of `on`; return by what share memory has grown.

    Raises ClickException unless all write the same file, the first one's, `whole`.
    """
    rates, grown = [], 0.0
    for number, name in enumerate(on):
        out = whole.with_name(f"{number}.jsonl") if number else whole
        samples = list(watch(start(source, out, [*options, *workers(name)]), out, every))
        rate, more = report(name, samples, references)
        rates.append(rate)
        grown = max(grown, more, key=abs)
        if out.read_bytes() != whole.read_bytes():
            raise click.ClickException(f"{name} wrote another file.")
    for name, rate in zip(on[1:], rates[1:], strict=True):
        click.echo(f"{name}: {rate / rates[0]:.2f} times the rate of {on[0]}, the same bytes")
    click.echo(f"{whole.stat().st_size / references:.0f} bytes of output a reference")
    return grown


def workers(name: str) -> list[str]:
    """The options of ENGINE:N."""
    engine, _, count = name.partition(":")
    return ["--engine", engine, "--workers", count]


def numbered_references(data: Path) -> Iterator[str]:
    """The references of real articles, endlessly, each under a number of its own."""
    texts = [
        " ".join(record["plaintext"].split())
        for name in FILES
        for record in read_records(data / "refs" / f"{name}.jsonl.gz")
    ]
    return (f"{number + 1}. {texts[number % len(texts)]}" for number in count())


def start(source: Path, out: Path, options: Sequence[str]) -> subprocess.Popen[bytes]:
    """The command on `source`, as a child process."""
    command = [sys.executable, "-m", "reno_dspy.cli", "annotate", str(source), "--out", str(out)]
    return subprocess.Popen([*command, *options])


def watch(process: subprocess.Popen[bytes], out: Path, every: float) -> Iterator[Sample]:
    """Samples of a run until it has ended. Raises ClickException when it fails."""
    log = out.with_name(f"{out.name}.partial")
    started, size, answers = time.perf_counter(), 0, -1  # the log's first line is no answer
    while process.poll() is None:
        if log.exists():
            with open(log, "rb") as file:
                file.seek(size)
                new = file.read()
            size, answers = size + len(new), answers + new.count(b"\n")
        yield Sample(time.perf_counter() - started, max(answers, 0), resident(process.pid))
        time.sleep(every)
    if process.returncode != 0:
        raise click.ClickException("The run failed.")


def resident(pid: int) -> int:
    """Bytes resident of a process and its children; 0 when it has just ended."""
    try:
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
        return sum(member.memory_info().rss for member in family)
    except psutil.NoSuchProcess:
        return 0


def report(name: str, samples: Sequence[Sample], references: int) -> tuple[float, float]:
    """Print the figures of an undisturbed run.

    Returns its references per second, and by what share its memory has grown.
    """
    asked = [sample for sample in samples if 0 < sample.answers < references]
    first = [sample.resident for sample in asked if sample.answers <= references / 10]
    last = [sample.resident for sample in asked if sample.answers >= references * 9 / 10]
    writing = [sample.resident for sample in samples if sample.answers >= references]
    seconds = asked[-1].seconds - asked[0].seconds
    rate = (asked[-1].answers - asked[0].answers) / seconds
    grown = mean(last) / mean(first) - 1
    click.echo(
        f"{name}: {references} references in {samples[-1].seconds:.0f} s, {rate:.0f} references/s; memory "
        f"{mean(first) / MIB:.0f} MiB in the first tenth, {mean(last) / MIB:.0f} in the last "
        f"({grown:+.1%}), at most {max(sample.resident for sample in asked) / MIB:.0f}, "
        f"{max(writing, default=0) / MIB:.0f} as the file is written"
    )
    return rate, grown


def interrupt(process: subprocess.Popen[bytes], out: Path, references: int) -> int:
    """Kill a run at a third of its answers; return how many it had."""
    for sample in watch(process, out, 0.5):
        if sample.answers >= KILL_AT * references:
            process.send_signal(signal.SIGKILL)
            process.wait()
            return sample.answers
    raise click.ClickException("The run had ended before it could be killed.")


def check(whole: Path, cut: Path, lines: Sequence[str]) -> None:
    """Fail unless both files are alike, and hold every line once and in order."""
    if whole.read_bytes() != cut.read_bytes():
        raise click.ClickException("The resumed run wrote another file.")
    with open(whole, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    if [row["reference"] for row in rows] != list(lines):
        raise click.ClickException("References are lost, repeated or out of order.")
    failed = sum(row["error"] is not None for row in rows)
    click.echo(f"resumed: the same {len(rows)} rows, byte for byte; {failed} with an error")


if __name__ == "__main__":
    main()
