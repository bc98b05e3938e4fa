"""The service under load beside `reno annotate`: references per second, waiting times, errors.

    python benchmarks/service.py tagger --references refs.txt [--clients 64] [--seconds 60]

In one run on one machine: first `reno annotate`'s job on the references (read and written whole, the
system loaded before the clock starts), then `reno serve` in a process of its own, asked by clients that
each send `--per-request` references as soon as they have the answer to the last ones. The clients take
CPU time from the service, as they would on one machine.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np

from reno_dspy.annotate.job import AnnotateConfig, annotate, read_references
from reno_dspy.systems.registry import open_system


@dataclass
class Load:
    """What clients saw: seconds of each request, references that were answered, and what went wrong."""

    seconds: list[float] = field(default_factory=list)
    references: int = 0
    errors: list[str] = field(default_factory=list)


def annotate_alone(system: str, references: list[str]) -> float:
    """References per second of `reno annotate`."""
    with tempfile.TemporaryDirectory() as folder:
        config = AnnotateConfig(input="-", out=Path(folder) / "refs.xml", system=system)
        with open_system(config, Path(folder) / "log") as opened:
            asyncio.run(opened.start())
            annotate(
                config.model_copy(update={"out": Path(folder) / "warm"}), opened, references[:64]
            )
            start = time.perf_counter()
            annotate(config, opened, references, total=len(references))
            return len(references) / (time.perf_counter() - start)


@contextmanager
def service(system: str) -> Iterator[str]:
    """The address of `reno serve SYSTEM`."""
    command = [sys.executable, "-m", "reno_dspy.cli", "serve", system, "--port", "0"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
        process.terminate()


async def ask(
    client: httpx.AsyncClient, batches: Iterator[list[str]], until: float, load: Load
) -> None:
    """One client."""
    while time.perf_counter() < until:
        batch, start = next(batches), time.perf_counter()
        try:
            answer = await client.post("/annotate", json=batch)
        except httpx.HTTPError as error:
            load.errors.append(type(error).__name__)
            continue
        load.seconds.append(time.perf_counter() - start)
        if answer.status_code != 200:
            load.errors.append(f"{answer.status_code} {answer.text[:100]}")
        else:
            failed = re.findall(r'"error":"[^"]*"', answer.text)
            load.errors += failed
            load.references += len(batch) - len(failed)


async def ask_all(
    url: str, references: list[str], options: argparse.Namespace
) -> tuple[Load, float]:
    """All clients for `--seconds`; what they saw, and how long it took."""
    load, size = Load(), options.per_request
    texts = itertools.cycle(references)
    batches = iter(lambda: list(itertools.islice(texts, size)), [])
    limits = httpx.Limits(max_connections=options.clients)
    async with httpx.AsyncClient(
        base_url=url, timeout=120, limits=limits, trust_env=False
    ) as client:
        await client.post("/annotate", json=references[:64])
        start = time.perf_counter()
        until = start + options.seconds
        await asyncio.gather(*(ask(client, batches, until, load) for _ in range(options.clients)))
        return load, time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("system")
    parser.add_argument("--references", type=Path, required=True)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--per-request", type=int, default=8)
    options = parser.parse_args()
    lines = options.references.read_text(encoding="utf-8").splitlines()
    references = list(read_references(lines))
    alone = annotate_alone(options.system, references)
    print(f"reno annotate: {len(references)} references, {alone:.1f} references/s", flush=True)
    with service(options.system) as url:
        load, took = asyncio.run(ask_all(url, references, options))
    rate = load.references / took
    middle, late = np.percentile(load.seconds, (50, 99))
    print(
        f"reno serve: {options.clients} clients, {options.per_request} references a request, {took:.0f} s: "
        f"{load.references} references, {rate:.1f} references/s ({100 * rate / alone:.0f}%), "
        f"p50 {middle:.2f} s, p99 {late:.2f} s, {len(load.errors)} errors {load.errors[:3]}"
    )


if __name__ == "__main__":
    main()
