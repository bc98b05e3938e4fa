"""The rows that the tagger is trained on: real ones, and rendered ones beside them.

    python benchmarks/crf.py rows --data ../shared/data --out WORK
    reno synthesize ... --out RENDERED
    python benchmarks/tagger.py rows --real WORK/wide --rendered RENDERED --yardstick ../shared --out MIXED
    reno finetune tagger --data MIXED --out RUN

Real rows come several times, each time with other noise. No row cites a work of the yardstick.
`dev`, by which the best weights are chosen, is half real and half rendered.
"""

from __future__ import annotations

from pathlib import Path

import click
from yardstick import SETS

from reno_dspy.data.dataset import load, save
from reno_dspy.data.draw import draw
from reno_dspy.synthesize.split import held_apart


@click.group()
def main() -> None:
    """Rows for the tagger."""


@main.command()
@click.option("--real", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--rendered", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--yardstick", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--times", default=3, show_default=True, help="How often each real row comes.")
@click.option("--n", default=60_000, show_default=True, help="Rendered rows.")
@click.option("--seed", default=0, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), required=True)
def rows(
    real: Path, rendered: Path, yardstick: Path, times: int, n: int, seed: int, out: Path
) -> None:
    """Write the mixture as a data set with train and dev."""
    apart = held_apart([str(yardstick / name) for name in SETS])
    given = load(str(real), "train").rows
    taught = [row for row in given if not apart.cited_by(row)]
    made = draw(load(str(rendered), "train").rows, n, seed)
    dev = load(str(real), "dev").rows
    rendered_dev = draw(load(str(rendered), "dev").rows, len(dev), seed)
    card = (
        f"{len(taught)} real rows, {times} times each, and {len(made)} rendered ones. Left out were "
        f"{len(given) - len(taught)} real rows that cite a work of the yardstick.\n"
    )
    save({"train": [*taught * times, *made], "dev": [*dev, *rendered_dev]}, out, card, {})
    click.echo(card, nl=False)


if __name__ == "__main__":
    main()
