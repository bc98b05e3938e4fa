"""`reno annotate` on a large file: references per second, memory over time, and a kill -9 midway.

    python benchmarks/annotating.py --data ../shared/data
    python benchmarks/annotating.py --data ../shared/data --system tagger --references 2000

The file's lines are the references of `--data`, again and again under other numbers, so that no two are
alike. The command runs once undisturbed, while the memory of its processes is sampled. A second run is
killed at a third of the answers and a third one resumes it: both files must be the same bytes.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from statistics import mean

import click
import psutil

from reno_dspy.data.sources import read_records

FILES = ("scielo", "ore", "pmc")
KILL_AT = 1 / 3
MIB = 2**20


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
@click.option("--every", default=0.5, show_default=True, help="Seconds between two samples.")
def main(data: Path, system: str, adapter: str | None, references: int, every: float) -> None:
    """Print the figures; fail when something is lost, repeated, or grows by more than a tenth."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, whole, cut = (folder / file for file in ("refs.txt", "whole.jsonl", "cut.jsonl"))
        lines = list(islice(numbered_references(data), references))
        source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        options = ["--system", system, *(["--adapter", adapter] if adapter else [])]
        grown = report(list(watch(start(source, whole, options), whole, every)), references)
        click.echo(f"killed at {interrupt(start(source, cut, options), cut, references)} answers")
        if start(source, cut, options).wait() != 0:
            raise click.ClickException("The resumed run failed.")
        check(whole, cut, lines)
        if abs(grown) > 0.1:
            raise click.ClickException(f"Memory changed by {grown:+.0%}.")


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
    return subprocess.Popen([*command, *options, "--format", "jsonl"])


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


def report(samples: Sequence[Sample], references: int) -> float:
    """Print the figures of an undisturbed run; return by what share its memory has grown."""
    asked = [sample for sample in samples if 0 < sample.answers < references]
    first = [sample.resident for sample in asked if sample.answers <= references / 10]
    last = [sample.resident for sample in asked if sample.answers >= references * 9 / 10]
    writing = [sample.resident for sample in samples if sample.answers >= references]
    seconds = asked[-1].seconds - asked[0].seconds
    rate = (asked[-1].answers - asked[0].answers) / seconds
    grown = mean(last) / mean(first) - 1
    click.echo(
        f"{references} references in {samples[-1].seconds:.0f} s, {rate:.0f} references/s; memory "
        f"{mean(first) / MIB:.0f} MiB in the first tenth, {mean(last) / MIB:.0f} in the last "
        f"({grown:+.1%}), at most {max(sample.resident for sample in asked) / MIB:.0f}, "
        f"{max(writing, default=0) / MIB:.0f} as the file is written"
    )
    return grown


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
