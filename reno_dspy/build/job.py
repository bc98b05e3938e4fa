"""Build a data set from PDF + JATS pairs (paper, section 2), stage by stage.

    reno build --corpus examples/corpus/corpus.tsv --out runs/build

    convert -> extract -> match -> filter -> describe -> sample -> split

Every stage keeps its rows in `OUT/stages/NAME.jsonl`; a run killed at any moment resumes after the last
whole stage (inside convert and what an LM does: after the last document). OUT is the data set.
"""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reno_dspy import __version__
from reno_dspy.base.rundir import RunDir
from reno_dspy.base.tracker import DataRef, Run, Tracker
from reno_dspy.build import card as cards
from reno_dspy.build.config import BuildConfig
from reno_dspy.build.context import Build
from reno_dspy.build.stages import run as run_stages
from reno_dspy.build.steps import Describer, Extractor
from reno_dspy.build.store import Done, StageStore
from reno_dspy.data.corpus import read_corpus
from reno_dspy.data.dataset import Row, save, to_row
from reno_dspy.data.hub import push_to_hub
from reno_dspy.data.sources import SPLITS

# Libraries on which the rows depend; their versions go to the manifest.
_LIBRARIES = (
    "markitdown", "pypdfium2", "rapidfuzz", "lxml", "lingua-language-detector", "numpy", "scipy",
)  # fmt: skip
# How to go on when articles have changed.
_ANEW = (
    "give the same command with --fresh or another --out. To keep what the change does not concern, give "
    "it with --stage and the first stage to do again"
)


@dataclass(frozen=True)
class Built:
    """A finished build: the data set, rows by split, its stages, and what could not be balanced."""

    path: Path
    digest: str
    rows: Mapping[str, int]
    stages: Mapping[str, Done]
    warnings: tuple[str, ...]


def build(
    config: BuildConfig,
    tracker: Tracker,
    *,
    extractor: Extractor | None = None,
    describer: Describer | None = None,
    fresh: bool = False,
) -> Built:
    """Build the data set of `config` into `config.out`.

    `extractor` and `describer` stand for the LM programs that the configuration names; None is the
    rule-based default. Raises InputError for a corpus that cannot be read as such, JobError when a
    stage leaves nothing; what was done is kept.
    """
    entries = read_corpus(config.corpus, config.source)[: config.limit]
    store = StageStore(config.out / "stages")
    shared = Build(config, entries, store, extractor, describer)
    name = f"{config.out.name} ({len(entries)} articles)"
    with (
        RunDir.open(
            config.out,
            "build",
            config.identity(),
            depends_on=shared.depends_on(),
            fresh=fresh,
            # Each stage knows what it was made from: those that a change does not concern are kept.
            renew=config.stage is not None,
            anew=_ANEW,
        ) as run_dir,
        tracker.start("build", name, run_dir=run_dir.path, config=config.identity()) as run,
    ):
        stages = run_stages(shared)
        sample = json.loads((store.folder / cards.COMPOSITION).read_text(encoding="utf-8"))
        card = cards.card(config.out.name, config.corpus.name, stages, sample)
        digest = _save(config, shared, stages, card)
        pictures = cards.draw_pictures(config.out, stages, sample)
        _log(run, config, stages, card, pictures)
        if config.push_to_hub is not None:
            run.tags({"hub": push_to_hub(config.out, config.push_to_hub, digest)})
    rows = {name: stages["split"].tally.also[name] for name in SPLITS}
    return Built(config.out, digest, rows, stages, tuple(sample["warnings"]))


def _save(config: BuildConfig, shared: Build, stages: Mapping[str, Done], card: str) -> str:
    splits: dict[str, list[Row]] = {name: [] for name in SPLITS}
    for record in stages["split"].rows():
        splits[record["split"]].append(to_row(record, record["id"]))
    # A small corpus may leave a split without rows; a split that is there has some.
    filled = {name: rows for name, rows in splits.items() if rows}
    manifest = {
        "job": "build",
        "configuration": config.model_dump(mode="json"),
        "versions": {"reno-dspy": __version__}
        | {name: importlib.metadata.version(name) for name in _LIBRARIES},
        "stages": {name: _counts(done) for name, done in stages.items()},
        "inputs": shared.inputs,
    }
    return save(filled, config.out, card, manifest)


def _counts(done: Done) -> dict[str, Any]:
    return done.tally.counts() | {"sha256": done.sha256}


def _log(
    run: Run, config: BuildConfig, stages: Mapping[str, Done], card: str, pictures: list[Path]
) -> None:
    manifest = json.loads((config.out / "manifest.json").read_text(encoding="utf-8"))
    for split, digest in manifest["split_digests"].items():
        name = f"{config.out.name}-{split}"
        run.data(DataRef(name, digest, str(config.out), manifest["rows"][split]), "build")
    run.tags({"data_digest": manifest["digest"]})
    run.metrics(cards.metrics(stages))
    for path in (config.out / "manifest.json", config.out / "README.md", *pictures):
        run.artifact(path)
    run.describe(card)
