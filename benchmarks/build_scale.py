"""The build at the paper's size: match, filter, describe, sample and split of 161,625 synthetic pairs.

    python benchmarks/build_scale.py ../shared/data/refs WORK [--pairs 161625] [--workers 2]

Pairs are made from real ones: numbers are changed so that each is another reference, and the plain text
gets some wrong letters, as a PDF has them. Articles have 60 references, in another order in the text
than in the JATS. Prints seconds and rows of every stage and the largest resident memory.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import quoteattr

from reno_dspy.build.card import COMPOSITION
from reno_dspy.build.config import STAGES, BuildConfig
from reno_dspy.build.stages import Pipeline
from reno_dspy.build.store import StageStore, Tally
from reno_dspy.data.corpus import Entry
from reno_dspy.data.dataset import Row, load

PER_ARTICLE = 60
PLATFORMS = {"scielo": 60, "redalyc": 28, "ore": 5, "pkp": 7}
# The real rows are mostly English journal articles; the paper's pool cannot have been.
LANGUAGES = {"en": 50, "pt": 28, "es": 12, "fr": 5, "de": 2, "it": 1, "ru": 1, "zh": 1}
RARE_TYPES = {"thesis": 4, "webpage": 4, "confproc": 6}


def varied(row: Row, rng: random.Random) -> tuple[str, str]:
    """Another reference like this one: its numbers changed alike in text and annotation."""
    shift = rng.randrange(1, 89)

    def change(found: re.Match[str]) -> str:
        value = found.group()
        return value if value.startswith(("19", "20", "0")) else str(int(value) + shift)

    pattern = re.compile(r"(?<![\w.&#/-])\d{2,4}(?![\w&;/-])")
    return pattern.sub(change, row.plaintext or ""), pattern.sub(change, row.xml)


def noisy(text: str, rng: random.Random) -> str:
    """The text with about one wrong letter in a hundred."""
    letters = list(text)
    for _ in range(len(letters) // 100):
        letters[rng.randrange(len(letters))] = rng.choice("aeinost ")
    return "".join(letters)


def weights(rows: list[Row]) -> list[float]:
    """How often each row is taken, so that the pool has `LANGUAGES` and more of the rare types."""
    counts = Counter(row.language for row in rows)
    return [
        LANGUAGES.get(row.language or "", 0)
        / counts[row.language]
        * RARE_TYPES.get(row.publication_type or "", 1)
        for row in rows
    ]


def make_articles(
    rows: list[Row], folder: Path, pairs: int, rng: random.Random
) -> Iterator[tuple[Entry, list[str]]]:
    """Write the JATS files; yield each article's entry and the references that its text has."""
    drawn = iter(rng.choices(rows, weights(rows), k=pairs))
    pdf = folder / "none.pdf"
    pdf.write_bytes(b"%PDF-1.4")
    for number, first in enumerate(range(0, pairs, PER_ARTICLE)):
        made = [varied(next(drawn), rng) for _ in range(min(PER_ARTICLE, pairs - first))]
        refs = "".join(f'<ref id="r{i}">{xml}</ref>' for i, (_, xml) in enumerate(made))
        kind = "preprint" if rng.random() < 0.06 else "research-article"
        xml = folder / f"a{number:05}.xml"
        xml.write_text(
            f"<article article-type={quoteattr(kind)}><back><ref-list>{refs}</ref-list></back></article>",
            encoding="utf-8",
        )
        texts = [noisy(text, rng) for text, _ in made]
        rng.shuffle(texts)
        source = rng.choices(list(PLATFORMS), list(PLATFORMS.values()))[0]
        yield Entry(xml.stem, pdf, xml, source), texts


def main() -> None:
    """Make the articles, run the stages, print what they took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("refs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--pairs", type=int, default=161_625)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    rows = [
        row
        for name in ("scielo", "ore", "pmc")
        for row in load(str(arguments.refs / f"{name}.jsonl.gz")).rows
    ]
    folder = arguments.out / "articles"
    folder.mkdir(parents=True)
    made = list(make_articles(rows, folder, arguments.pairs, random.Random(0)))
    entries = [entry for entry, _ in made]
    config = BuildConfig(corpus=folder, out=arguments.out, workers=arguments.workers)
    began = time.monotonic()
    pipeline = Pipeline(config, entries, StageStore(arguments.out / "stages"), None, None)
    tally = Tally("articles", "references", len(made), sum(len(texts) for _, texts in made))
    extracted = ({"id": e.id, "references": texts, "error": None} for e, texts in made)
    pipeline.done["extract"] = pipeline.store.write("extract", {}, extracted, tally)
    with pipeline.engine:
        for name in STAGES[2:]:
            started = time.monotonic()
            done = pipeline.done[name] = getattr(pipeline, f"_{name}")()
            counts = f"{done.tally.into:,} -> {done.tally.out:,} {dict(done.tally.dropped)}"
            print(f"{name:9} {time.monotonic() - started:7.1f} s  {counts}", flush=True)
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    total = (own + arguments.workers * children) / 2**20
    print(f"all in {time.monotonic() - began:.0f} s; at most {total:.2f} GiB in all processes")
    kept = json.loads((arguments.out / "stages" / COMPOSITION).read_text(encoding="utf-8"))
    for part in kept["composition"]:
        shares = " ".join(f"{k} {100 * part[k]:5.1f}" for k in ("target", "mu", "drawn", "pool"))
        print(f"{part['group']:20} {part['value']:10} {shares}")
    print(*kept["warnings"], sep="\n")


if __name__ == "__main__":
    main()
