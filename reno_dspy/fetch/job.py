"""Fetch a platform's articles into a corpus that `reno build` takes.

    reno fetch --platform ore --out corpora/ore --contact you@example.org --limit 100

Files lie in OUT/articles, what happened to each in OUT/fetch.jsonl, the manifest (articles of which both
files are there) in OUT/corpus.tsv. Run again, it fetches what is missing.
"""

from __future__ import annotations

import itertools
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reno_dspy.base.errors import InputError, JobError
from reno_dspy.base.files import sha256_file, write_text
from reno_dspy.base.progress import bar
from reno_dspy.base.rundir import RunDir
from reno_dspy.base.tracker import Run, Tracker
from reno_dspy.data.corpus import COLUMNS, NAME
from reno_dspy.fetch.config import FetchConfig
from reno_dspy.fetch.download import Check, Downloader, Manners, Outcome, is_pdf, is_xml
from reno_dspy.fetch.platforms import Item, items_of, read_platform
from reno_dspy.jats.article import read_article


@dataclass(frozen=True)
class Fetched:
    """The corpus, how many articles are whole, and how often what went wrong."""

    manifest: Path
    articles: int
    errors: Counter[str]


def fetch(config: FetchConfig, tracker: Tracker, *, fresh: bool = False) -> Fetched:
    """Fetch the articles of `config.platform` into `config.out`.

    Raises InputError for an unknown platform or missing JATS, JobError when the platform's index cannot
    be had or no article is whole.
    """
    platform = read_platform(config.platform, config.platforms)
    manners = Manners(
        config.contact, config.interval_s, config.retries, config.backoff_s,
        deadline_s=config.deadline_s,
    )  # fmt: skip
    name = f"{config.platform} -> {config.out.name}"
    with (
        # What servers have changes by the hour; a file that is there was checked by itself.
        RunDir.open(config.out, "fetch", config.identity(), depends_on={}, fresh=fresh) as run_dir,
        tracker.start("fetch", name, run_dir=run_dir.path, config=config.identity()) as run,
        Downloader(manners) as downloader,
    ):
        items = items_of(platform, config.out, config.jats, downloader)
        chosen = list(itertools.islice(items, config.limit))
        fetched = _fetch_all(chosen, config, run_dir, downloader)
        _log_result(run, fetched, len(chosen))
    if not fetched.articles:
        reasons = "; ".join(f"{error} ({n})" for error, n in fetched.errors.most_common(3))
        raise JobError(
            f"No article is whole: {reasons or 'there is none'}. What happened to each is in "
            f"{config.out / 'fetch.jsonl'}."
        )
    return fetched


def _fetch_all(
    items: list[Item], config: FetchConfig, run_dir: RunDir, downloader: Downloader
) -> Fetched:
    lines = ["\t".join(COLUMNS)]
    errors: Counter[str] = Counter()
    with run_dir.log("fetch.jsonl").appending() as log, bar("fetch", len(items)) as progress:
        for item in items:
            problems = []
            for kind, outcome in _files(item, run_dir / "articles", downloader):
                error = outcome.error
                log.write({"id": item.id, "file": kind, "sha256": outcome.sha256, "error": error})
                if error is not None:
                    problems.append(f"{kind}: {error}")
            errors.update(problems)
            if not problems:
                lines.append(_line(item, config.platform, run_dir / "articles"))
            progress.advance(note=f"{errors.total()} errors")
    manifest = run_dir / NAME
    write_text(manifest, "\n".join(lines) + "\n")
    return Fetched(manifest, len(lines) - 1, errors)


def _files(item: Item, folder: Path, downloader: Downloader) -> Iterator[tuple[str, Outcome]]:
    wanted: tuple[tuple[str, str | Path | None, Check], ...] = (
        ("xml", item.xml, is_xml),
        ("pdf", item.pdf, is_pdf),
    )
    for kind, origin, check in wanted:
        target = folder / f"{item.id}.{kind}"
        if isinstance(origin, str):
            yield kind, downloader.fetch(origin, target, check)
        elif origin is None:
            yield kind, Outcome(None, item.problem)
        else:
            yield kind, _copied(origin, target, check)


def _copied(origin: Path, target: Path, check: Check) -> Outcome:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(origin, target)
    if check(target):
        return Outcome(sha256_file(target))
    target.unlink()
    return Outcome(None, "not what its name says")


def _line(item: Item, source: str, folder: Path) -> str:
    files = [f"{folder.name}/{item.id}.{kind}" for kind in ("pdf", "xml")]
    try:
        doi = read_article(folder / f"{item.id}.xml").doi or ""
    except InputError:
        doi = ""  # the build says what is wrong with its JATS
    return "\t".join((item.id, *files, source, doi))


def _log_result(run: Run, fetched: Fetched, asked: int) -> None:
    run.metrics({"fetch/asked": asked, "fetch/articles": fetched.articles})
    run.metrics({"fetch/errors": fetched.errors.total()})
    run.artifact(fetched.manifest)
    lines = [f"- {count} × {error}" for error, count in fetched.errors.most_common()]
    run.describe("\n".join([f"{fetched.articles} of {asked} articles are whole.", *lines]))
