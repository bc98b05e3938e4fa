"""Cost against accuracy of a cascade: a cheap system first, a dearer one for what it is not sure of.

    reno evaluate --system crf --data DATA --out RUN1
    reno evaluate --system tagger --adapter DIR --data DATA --out RUN2
    python benchmarks/cascade.py RUN1 RUN2

Nothing is asked again: the stored answers are put together. The cost is the mean time of a reference, the
cheap system's for all of them and the dearer one's for those that go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from reno_dspy.base.show import markdown_table
from reno_dspy.measure.metric import PROFILES
from reno_dspy.measure.records import Record, by_question, read_predictions
from reno_dspy.measure.report import score_records

SHARES = (0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1)


@click.command()
@click.argument("cheap", type=click.Path(path_type=Path, exists=True))
@click.argument("dear", type=click.Path(path_type=Path, exists=True))
@click.option("--profile", type=click.Choice(list(PROFILES)), default="paper", show_default=True)
def main(cheap: Path, dear: Path, profile: str) -> None:
    """Print, for some thresholds, the share that goes on, the time, and the share wholly right."""
    first, second = (by_question(read_predictions(run)) for run in (cheap, dear))
    both = sorted(first.keys() & second.keys())
    one, other = ([records[key] for key in both] for records in (first, second))
    if not both or any(record.get("confidence") is None for record in one):
        raise click.UsageError(f"{cheap} needs a confidence for the references that both answered.")
    confidence = np.array([record["confidence"] for record in one])
    right, right_then = (_right(records, profile) for records in (one, other))
    time, time_then = (_milliseconds(records) for records in (one, other))
    order = np.argsort(confidence, kind="stable")
    rows = []
    for share in SHARES:
        count = round(share * len(order))
        on, kept = order[:count], order[count:]
        total = right_then[on].sum() + right[kept].sum()
        below = confidence[order[count]] if count < len(order) else 1
        cost = time + share * time_then
        rows.append(
            [
                f"{below:.3f}",
                f"{100 * share:.0f}%",
                f"{cost:.2f}",
                f"{100 * total / len(order):.1f}%",
            ]
        )
    rows.append(["alone", "100%", f"{time_then:.2f}", f"{100 * right_then.mean():.1f}%"])
    click.echo(f"n {len(order)}, profile {profile}\n")
    heads = ["goes on below", "share", "ms a reference", "wholly right"]
    click.echo(markdown_table(heads, rows))


def _right(records: Sequence[Record], profile: str) -> np.ndarray:
    return np.array([score.whole_right for score in score_records(records, profile)], dtype=float)


def _milliseconds(records: Sequence[Record]) -> float:
    return 1000 * float(np.mean([record.get("latency_s") or 0 for record in records]))


if __name__ == "__main__":
    main()
