"""The CRF that ships: make its row files, measure a model on them and on what it never saw.

    python benchmarks/crf.py rows --data ../shared/data --out WORK
    reno train-crf --data WORK/train.jsonl --test WORK/test.jsonl --out WORK/run
    python benchmarks/crf.py measure --rows WORK --model WORK/run/crf.crfsuite
    reno calibrate --system WORK/run/crf.crfsuite --data WORK/dev.jsonl
    cp WORK/run/crf.crfsuite WORK/run/crf.json WORK/run/crf.calibration.json reno_dspy/systems/crf/

`train.jsonl` has only rows whose article is under an open licence (CC BY, CC0), `dev` and `test` all
rows of the frozen split; `refs` is the three as one data set, for `reno finetune`, and `wide` the same
with further books and languages in train, for the tagger. The other files are for seeing how far a
model generalizes: the CRF is not trained on them, nothing is trained on excite.
"""

from __future__ import annotations

import csv
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from reno_dspy.base.files import write_text
from reno_dspy.data.dataset import Row, load, save
from reno_dspy.data.sources import SPLITS, read_records
from reno_dspy.jats.elements import SCORED
from reno_dspy.measure.in_memory import measure
from reno_dspy.measure.measures import PRECISION, RECALL
from reno_dspy.systems.crf.model import SHIPPED, Crf

SPLIT_FILES = ("scielo", "ore", "pmc")
OTHERS = ("excite", "linkedbooks", "grobid", "anystyle")
# Openly licensed (MIT, Apache-2.0, BSD-2-Clause); names are not split, so only a tagger can use them.
WIDER = ("linkedbooks", "grobid", "anystyle")


@click.group()
def main() -> None:
    """Row files, and figures."""


@main.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--out", type=click.Path(path_type=Path), required=True)
def rows(data: Path, out: Path) -> None:
    """Write train, dev and test of the frozen split, and the sets that lie outside of it."""
    records = {name: _by_id(data, name) for name in SPLIT_FILES}
    parts: dict[str, list[dict[str, Any]]] = {"train": [], "dev": [], "test": []}
    with open(data / "splits.tsv", encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file, delimiter="\t"):
            record = records[line["file"]][line["id"]]
            if line["split"] in parts and (line["split"] != "train" or is_open(record["licence"])):
                parts[line["split"]].append(record)
    for name in OTHERS:
        parts[name] = [r for r in read_records(_refs(data, name)) if _is_whole(name, r)]
    for name, chosen in parts.items():
        write_text(out / f"{name}.jsonl", "".join(_lines(chosen)))
        click.echo(f"{name}: {len(chosen)} rows")
    splits = {name: load(str(out / f"{name}.jsonl")).rows for name in SPLITS}
    save(splits, out / "refs", "The frozen split of scielo, ore and pmc.\n", {})
    wider = [row for name in WIDER for row in load(str(out / f"{name}.jsonl")).rows]
    taught = (*splits["train"], *(_without_in(row) for row in wider if _widens(row)))
    card = "The frozen split, its train with books and other languages of openly licensed sets.\n"
    save({**splits, "train": taught}, out / "wide", card, {})


@main.command("measure")
@click.option("--rows", "folder", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--model", type=click.Path(path_type=Path), default=SHIPPED, show_default=True)
def measure_command(folder: Path, model: Path) -> None:
    """Lenient recall / precision (profile `paper`) on every row file, and references per second."""
    crf = Crf(model)
    for name in ("dev", "test", *OTHERS):
        dataset = load(str(folder / f"{name}.jsonl"))
        _report(name, crf, list(dataset.rows))
        if name == "test":
            for platform in sorted({row.source for row in dataset.rows}):
                chosen = [row for row in dataset.rows if row.source == platform]
                _report(f"  {platform}", crf, chosen)
    texts = [row.plaintext or "" for row in load(str(folder / "test.jsonl")).rows]
    start = time.process_time()
    for text in texts:
        crf.annotate_one(text)
    click.echo(f"{len(texts) / (time.process_time() - start):.0f} references/s of one core")


def is_open(licence: str) -> bool:
    """Whether a Creative Commons licence, by name or address, has neither NC nor ND."""
    words = set(re.split(r"[^a-z0-9]+", licence.lower()))
    return bool(words & {"by", "zero", "cc0"}) and not words & {"nc", "nd"}


def _widens(row: Row) -> bool:
    """Whether `train` has few of the kind. linkedbooks has journals inside titles."""
    if row.source.startswith("linkedbooks"):
        return row.publication_type == "book"
    return (
        not row.source.startswith("grobid")
        or row.publication_type != "journal"
        or (row.language not in (None, "en"))
    )


def _without_in(row: Row) -> Row:
    """AnyStyle's sources begin with the `In` before them; nobody else's do."""
    return replace(row, xml=re.sub(r"<source>([Ii]n:?\s)", r"\1<source>", row.xml))


def _report(name: str, crf: Crf, chosen: list[Any]) -> None:
    report = measure(crf, chosen)
    cells = []
    for field in SCORED:
        one = report.fields[field]
        if one.counts["gold"]:
            cells.append(f"{field} {one.value(RECALL):.1f}/{one.value(PRECISION) or 0:.1f}")
    click.echo(
        f"{name} ({report.n}): {'  '.join(cells)}  valid {report.share('valid_xml'):.1f}"
        f"  fidelity {report.share('fidelity'):.1f}"
    )


def _refs(data: Path, name: str) -> Path:
    return data / "refs" / f"{name}.jsonl.gz"


def _by_id(data: Path, name: str) -> dict[str, dict[str, Any]]:
    return {record["id"]: record for record in read_records(_refs(data, name))}


def _is_whole(name: str, record: dict[str, Any]) -> bool:
    """The rows that the data's description says to use."""
    if name == "excite":
        return record.get("where") == "end" and bool(record["names_split"])
    if name == "grobid":
        return bool(record.get("complete")) and record.get("subset") != "header-reference"
    if name == "anystyle":
        return str(record["source"]) in ("anystyle-core", "anystyle-gold")
    return True


def _lines(records: list[dict[str, Any]]) -> Iterator[str]:
    for record in records:
        yield json.dumps(record, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    main()
