"""What the probabilities of a system cost: their share of the processor time of annotating.

    python benchmarks/confidence.py --data WORK/test.jsonl
    python benchmarks/confidence.py --data WORK/test.jsonl --system tagger --adapter RUN

References go in batches of like length, as in `reno annotate`. Loading is not counted.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import click

from reno_dspy.data.dataset import load
from reno_dspy.systems import Confidence
from reno_dspy.systems.confidence import Judge, Labelled
from reno_dspy.systems.options import SystemOptions
from reno_dspy.systems.registry import open_system


@click.command()
@click.option("--data", required=True, help="References, as every --data.")
@click.option("--system", default="crf", show_default=True, help="crf, FILE.crfsuite, a tagger.")
@click.option("--adapter", type=click.Path(path_type=Path), help="The tagger's directory.")
@click.option("--repeat", default=3, show_default=True, help="Passes over the references.")
def main(data: str, system: str, adapter: Path | None, repeat: int) -> None:
    """Print the share of processor time that probabilities take, of each pass."""
    texts = sorted((row.plaintext or "" for row in load(data).rows), key=len)
    options = SystemOptions.model_validate({"system": system, "adapter": adapter})
    spent = _timed()
    with tempfile.TemporaryDirectory() as folder:
        with open_system(options, Path(folder) / "server.log") as opened:
            asyncio.run(opened.start())
            size = opened.batch_size
            for _ in range(repeat):
                spent.clear()
                start = time.process_time()
                for i in range(0, len(texts), size):
                    asyncio.run(opened.annotate(texts[i : i + size]))
                total = time.process_time() - start
                click.echo(
                    f"{system}: {100 * sum(spent) / total:.1f}% of {total:.2f} s, n {len(texts)}, "
                    f"{len(texts) / total:.0f} references a second of processor time"
                )


def _timed() -> list[float]:
    """The processor seconds of every call of `Judge.judge` from now on."""
    spent: list[float] = []
    judge = Judge.judge

    def timed(self: Judge, batch: Sequence[Labelled]) -> list[Confidence]:
        start = time.process_time()
        found = judge(self, batch)
        spent.append(time.process_time() - start)
        return found

    Judge.judge = timed  # type: ignore[method-assign]
    return spent


if __name__ == "__main__":
    main()
