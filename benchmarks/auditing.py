"""Does `reno audit` find the errors of gold? Measured on references that were annotated anew by hand.

    python benchmarks/auditing.py --out WORK

An error is a value that the old annotation of a row lacks, or one that it has and the verified one has
not (elements around names aside). A finding is one right value that the gold should have, and each value
that it replaces; it is right where the verified annotation agrees to the character. Nothing is ever
chosen or trained on these rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from reno_dspy.base.show import markdown_table, percent, shown
from reno_dspy.base.tracker import NullTracker
from reno_dspy.data.dataset import Dataset, to_row
from reno_dspy.data.sources import read_records
from reno_dspy.jats.citation import read
from reno_dspy.jats.elements import WHOLE_PEOPLE
from reno_dspy.measure.audit.ballots import read_ballots
from reno_dspy.measure.audit.findings import Finding, audit
from reno_dspy.measure.fields import FIELD_SETS, names_of, values_of
from reno_dspy.measure.job import EvaluateConfig, evaluate
from reno_dspy.systems.options import SystemOptions
from reno_dspy.systems.registry import open_system

FIELDS = tuple(name for name in FIELD_SETS["all"] if name not in WHOLE_PEOPLE)
# An error, or what a finding says of one: row, element, value, and whether the gold lacks it.
Error = tuple[str, str, str, bool]


def errors(rows: Sequence[dict[str, Any]], verified: Sequence[dict[str, Any]]) -> Counter[Error]:
    """The errors of the old annotations."""
    found: Counter[Error] = Counter()
    for row, right in zip(rows, verified, strict=True):
        old, new = (
            {n: Counter(filter(None, v)) for n, v in _values(r).items()} for r in (row, right)
        )
        for name in FIELDS:
            found.update(
                {(row["id"], name, v, True): n for v, n in (new[name] - old[name]).items()}
            )
            found.update(
                {(row["id"], name, v, False): n for v, n in (old[name] - new[name]).items()}
            )
    return found


def said(finding: Finding) -> Iterator[Error]:
    """What a finding says: one value is lacking, those that it replaces are wrong."""
    row = str(finding.ballot.record["id"])
    yield row, finding.field, finding.value, True
    for replaced in finding.replaces:
        name, _, value = replaced.partition(": ")
        if name in FIELDS:
            yield row, name, value, False


def _values(row: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    return dict(values_of(read(row["xml"], names_of(FIELDS)), FIELDS))


def _answered(system: str, rows: Sequence[dict[str, Any]], out: Path) -> Path:
    data = Dataset(tuple(to_row(row, "row") for row in rows), "old gold", "old gold", None)
    config = EvaluateConfig(system=system, data="old gold", out=out / system)
    with open_system(SystemOptions(system=system), out / "server.log") as opened:
        evaluate(config, opened, data, NullTracker())
    return config.out


def _old_rows(data: Path, verified: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    files = sorted((data / "refs").glob("*.jsonl.gz"))
    known = {row["id"]: row for file in files for row in read_records(file)}
    return [known[row["id"]] for row in verified]


@click.command()
@click.option("--shared", type=Path, default=Path("../shared"), show_default=True)
@click.option("--system", "systems", multiple=True, default=("crf", "tagger"), show_default=True)
@click.option("--out", type=Path, required=True, help="Where answers are kept.")
def main(shared: Path, systems: Sequence[str], out: Path) -> None:
    """Print recall and precision of the audit, by how sure its findings are."""
    verified = list(read_records(shared / "data" / "verified.jsonl"))
    rows = _old_rows(shared / "data", verified)
    expected = errors(rows, verified)
    ballots = read_ballots([_answered(system, rows, out) for system in systems])
    table = []
    for sure in (0.0, 0.5, 0.8, 0.9, 0.95):
        found = Counter(e for one in audit(ballots, sure=sure) for e in said(one))
        right = (found & expected).total()
        recall, precision = percent(right, expected.total()), percent(right, found.total())
        table.append([f"{sure:g}", found.total(), right, shown(recall), shown(precision)])
    click.echo(f"{expected.total()} errors in {len(rows)} annotations\n")
    click.echo(markdown_table(["sure from", "said", "right", "recall", "precision"], table))
    found = Counter(e for one in audit(ballots) for e in said(one))
    names = Counter(e[1] for e in expected.elements()).most_common()
    lines = []
    for name, count in names:
        of_field = Counter({e: n for e, n in found.items() if e[1] == name})
        right = (of_field & expected).total()
        lines.append([name, count, of_field.total(), right])
    click.echo(markdown_table(["element", "errors", "said", "right"], lines))


if __name__ == "__main__":
    main()
