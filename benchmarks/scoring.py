"""How long scoring takes: 10,000 stored predictions to a report, on one core. Aim: under 3 s.

    python benchmarks/scoring.py
    python benchmarks/scoring.py --predictions runs/qwen/predictions.jsonl

Without a file, predictions are made up: right, partly wrong, malformed and empty ones. Timed is what
`reno score` does: reading the file, comparing every citation, and intervals from 2,000 resamples.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from reno_dspy.data.sources import read_records
from reno_dspy.measure.report import make_report, score_records

T = TypeVar("T")
CITATIONS = 10_000
TEXT = (
    "effects of rainfall on imaginary maize a cohort study in fictional highlands revisited über "
    "educação pública y la construcción social del paisaje"
)
WORDS = TEXT.split()


@click.command()
@click.option("--predictions", type=click.Path(path_type=Path, exists=True))
@click.option("--profile", default="paper", show_default=True)
def main(predictions: Path | None, profile: str) -> None:
    """Time the scoring of stored predictions."""
    with tempfile.TemporaryDirectory() as folder:
        file = predictions or _made_up(Path(folder) / "predictions.jsonl")
        reading, records = _timed(lambda: list(read_records(file)))
        comparing, _ = _timed(lambda: score_records(records, profile))
        whole, report = _timed(lambda: make_report(records, profile))
    click.echo(
        f"{report.n} citations, {report.share('valid_xml'):.1f} % valid XML, profile {profile}: "
        f"reading {reading:.2f} s, comparing {comparing:.2f} s, report with intervals {whole:.2f} s, "
        f"all {reading + whole:.2f} s of one core"
    )


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    start = time.process_time()
    done = work()
    return time.process_time() - start, done


def _made_up(path: Path) -> Path:
    generator = random.Random(0)
    with open(path, "w", encoding="utf-8") as file:
        for i in range(CITATIONS):
            gold = _citation(generator)
            prediction = _spoilt(gold, generator)
            record = {"plaintext": "?", "xml": gold, "prediction": prediction, "error": None}
            file.write(json.dumps(record | {"citing_article": f"article-{i // 12}"}) + "\n")
    return path


def _citation(generator: random.Random) -> str:
    names = "".join(
        f"<name><surname>{generator.choice(WORDS).title()}{n}</surname> <given-names>A. B."
        "</given-names></name>, "
        for n in range(generator.randint(1, 8))
    )
    title = " ".join(generator.choices(WORDS, k=generator.randint(5, 18)))
    source = " ".join(generator.choices(WORDS, k=4)).title()
    return (
        f'<mixed-citation publication-type="journal"><person-group>{names}</person-group> '
        f"<article-title>{title}</article-title>. <source>{source}</source>. <year>2014</year>;"
        f"<volume>{generator.randint(1, 99)}</volume>(<issue>3</issue>):<fpage>1</fpage>."
        "</mixed-citation>"
    )


def _spoilt(gold: str, generator: random.Random) -> str:
    kind = generator.random()
    if kind < 0.1:
        return gold.removesuffix("</mixed-citation>").replace("</person-group>", "")
    if kind < 0.12:
        return ""
    if kind < 0.5:
        return gold.replace("effects", "the effects").replace("<year>2014", "<year>2015")
    return f"```xml\n{gold}\n```" if kind < 0.6 else gold


if __name__ == "__main__":
    main()
