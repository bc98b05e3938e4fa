"""References per second of the annotators that ship, in one run, and what they get right.

    python benchmarks/systems.py --data WORK/test.jsonl

The language model decodes as many references at once as its server has slots; the others work in
batches of like length, as `reno annotate` does. Loading is not counted.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import click

from finetune.serving.embedded import SHIPPED, EmbeddedSystem
from finetune.tagger.system import Tagger
from reno_dspy.data.dataset import Row, load
from reno_dspy.measure.in_memory import report_on
from reno_dspy.measure.measures import RECALL
from reno_dspy.systems import Completion, System
from reno_dspy.systems.crf.model import Crf


@click.command()
@click.option("--data", required=True, help="References with gold, as every --data.")
@click.option("--n", default=512, show_default=True, help="References for the CRF and the tagger.")
@click.option("--lm-n", default=64, show_default=True, help="References for the language model.")
def main(data: str, n: int, lm_n: int) -> None:
    """Print references/s, the ratio to the language model, recall, valid XML and fidelity."""
    rows = load(data, limit=n).rows
    every = max(len(rows) // lm_n, 1)
    lm = EmbeddedSystem(SHIPPED, log=Path(tempfile.mkdtemp()) / "server.log")
    lm.concurrency = 16
    try:
        speeds = {lm.name: _measure(lm, rows[::every])}
    finally:
        lm.close()
    for system in (Tagger(), Crf()):
        speeds[system.name] = _measure(system, rows)
    for name, speed in speeds.items():
        click.echo(f"{name}: {speed / speeds[lm.name]:.1f} x the language model")


def _measure(system: System, rows: Sequence[Row]) -> float:
    texts = [row.plaintext or "" for row in rows]
    asyncio.run(system.start())
    asyncio.run(_answers(system, texts[:1]))
    start = time.perf_counter()
    completions = asyncio.run(_answers(system, texts))
    speed = len(texts) / (time.perf_counter() - start)
    report = report_on(system, rows, completions)
    click.echo(
        f"{system.name}: {speed:.2f} references/s, n {len(rows)}, lenient recall "
        f"{report.overall.value(RECALL):.1f}, valid XML {report.share('valid_xml'):.1f}, "
        f"fidelity {report.share('fidelity'):.1f}"
    )
    return speed


async def _answers(system: System, texts: Sequence[str]) -> list[Completion]:
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    size = system.batch_size
    batches = iter([order[i : i + size] for i in range(0, len(order), size)])
    found: dict[int, Completion] = {}

    async def work() -> None:
        for batch in batches:
            completions = await system.annotate([texts[i] for i in batch])
            found.update(zip(batch, completions, strict=True))

    await asyncio.gather(*(work() for _ in range(system.concurrency)))
    return [found[i] for i in range(len(texts))]


if __name__ == "__main__":
    main()
