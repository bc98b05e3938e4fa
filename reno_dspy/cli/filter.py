"""`reno filter`: the quality checks of the build, for any file of pairs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reno_dspy.data.dataset import Row

Reasons = tuple[str, ...]


@click.command("filter")
@click.argument("pairs")
@click.option("--split", help="Split to check, of a data set that has several.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a pair.")
@click.option("--keep", type=click.Path(path_type=Path), help="Write the pairs that pass (.jsonl).")
def command(pairs: str, split: str | None, as_json: bool, keep: Path | None) -> None:
    """Check PAIRS (columns `plaintext` and `xml`; .jsonl(.gz), .parquet, data set directory, hub id).

    Every rule of the paper's section 2.3 is applied; a pair that fails any is rejected. With --json,
    a line has `id`, `verdict` (keep or reject) and `reasons`; without, the tally is printed.
    """
    from reno_dspy.build.filters import check
    from reno_dspy.data.dataset import load

    rows = load(pairs, split).rows
    reasons = [check(row.plaintext, row.xml) for row in rows]
    if keep is not None:
        _write_kept(keep, rows, reasons)
    if as_json:
        for number, (row, given) in enumerate(zip(rows, reasons, strict=True), start=1):
            verdict = "reject" if given else "keep"
            record = {"id": row.id or str(number), "verdict": verdict, "reasons": given}
            click.echo(json.dumps(record, ensure_ascii=False))
    else:
        _print_tally(rows, reasons)


def _write_kept(path: Path, rows: Sequence[Row], reasons: Sequence[Reasons]) -> None:
    from reno_dspy.base.files import write_text

    kept = (asdict(row) for row, given in zip(rows, reasons, strict=True) if not given)
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept))


def _print_tally(rows: Sequence[Row], reasons: Sequence[Reasons]) -> None:
    from rich.table import Table

    from reno_dspy.base.show import console
    from reno_dspy.build.filters import tally

    out = console()
    table = Table("reason", "pairs", "of failed pairs", "of all reasons", title="Rejected pairs")
    for reason, values in tally(reasons).items():
        shares = (f"{100 * values[key]:.1f}%" for key in ("share_of_failed", "share_of_reasons"))
        table.add_row(reason, f"{values['count']:,}", *shares)
    out.print(table)
    platforms = sorted({row.source for row in rows})
    for platform in platforms:
        given = [r for row, r in zip(rows, reasons, strict=True) if row.source == platform]
        passed = sum(not one for one in given)
        out.print(f"{platform}: {passed:,} of {len(given):,} pass ({passed / len(given):.1%})")
