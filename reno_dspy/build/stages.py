"""The stages of a build as data, and the loop that runs them.

To add a stage, write its `Stage` and put it into `STAGES`; its name goes into `config.StageName` as well,
for `--stage`.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from reno_dspy.base.errors import JobError
from reno_dspy.build import card, steps
from reno_dspy.build import sample as sampling
from reno_dspy.build.context import (
    LM_FAILED,
    VERSION,
    Build,
    asked,
    forget_answers,
    identity_of,
    mapped,
)
from reno_dspy.build.pdf.convert import convert_record
from reno_dspy.build.store import Done, Record, Tally
from reno_dspy.data.split import first_of_each, split_articles


@dataclass(frozen=True)
class Stage:
    """One stage: records in, records out, both in JSON lines.

    `units` are what is counted before and after it. `depends_on` gives the options that its rows depend
    on (what the stages before depend on is known from their rows), `records` makes its rows from those
    of the stage before (of the first: the articles), `count` adds one of its rows to the counts.
    `not_taken` counts what it left out as a whole, of which it has no rows.
    """

    name: str
    units: tuple[str, str]
    depends_on: Callable[[Build], Record]
    records: Callable[[Build, Done], Iterator[Record]]
    count: Callable[[Tally, Record], None]
    not_taken: Callable[[Build], Mapping[str, int]] = lambda _: {}


def run(build: Build) -> dict[str, Done]:
    """Run all stages in order, but for those that are done. Raises JobError when one leaves nothing."""
    done: dict[str, Done] = {}
    before = _articles(build)
    with build.engine:
        for stage in STAGES:
            before = done[stage.name] = _run(build, stage, before)
            if not before.tally.out:
                raise JobError(_nothing_left(before))
    return done


def _run(build: Build, stage: Stage, before: Done) -> Done:
    depends_on = {"stage": stage.name, "version": VERSION, **stage.depends_on(build)}
    if before.sha256:
        depends_on["input"] = before.sha256
    done = None
    if build.config.stage != stage.name:
        done = build.store.reusable(stage.name, depends_on)
    if done is None:
        tally = Tally(*stage.units, into=before.tally.out)
        done = build.store.write(
            stage.name, depends_on, _counted(build, stage, before, tally), tally
        )
    forget_answers(build, done)
    return done


def _counted(build: Build, stage: Stage, before: Done, tally: Tally) -> Iterator[Record]:
    """The stage's records; `tally` is complete after the last one."""
    for record in stage.records(build, before):
        stage.count(tally, record)
        yield record
    for reason, count in stage.not_taken(build).items():
        tally.drop(reason, count)


def _articles(build: Build) -> Done:
    """The articles as what the first stage comes after."""
    tally = Tally("articles", "articles", out=len(build.entries))
    return Done("articles", build.store.folder, "", tally, reused=True)


def _convert_options(build: Build) -> Record:
    pdfs = [[one["id"], one["pdf"]] for one in build.inputs]
    return {"pdfs": pdfs} | _limits(build)


def _limits(build: Build) -> Record:
    """What one article may take of its PDF's conversion, and of the search for its references."""
    return {"timeout_s": build.config.timeout_s, "memory_mb": build.config.memory_mb}


def _convert(build: Build, _: Done) -> Iterator[Record]:
    step = functools.partial(convert_record, **_limits(build))
    paths = ({"path": str(entry.pdf.resolve())} for entry in build.entries)
    documents = mapped(build, "convert", step, paths)
    for entry, found in zip(build.entries, documents, strict=True):
        yield {
            "id": entry.id,
            "pdf_sha256": found["sha256"],
            "markdown": found["markdown"],
            "error": found["error"],
        }


def _count_document(tally: Tally, record: Record) -> None:
    if record["error"] is None:
        tally.out += 1
    else:
        tally.drop(record["error"])


def _extract_options(build: Build) -> Record:
    who = {"extractor": identity_of(build.config.extractor, build.extractor)}
    return who if build.extractor is not None else who | _limits(build)


def _extract(build: Build, before: Done) -> Iterator[Record]:
    program = build.extractor
    if program is None:
        by_rules = functools.partial(steps.extract_by_rules, **_limits(build))
        return mapped(build, "extract", by_rules, before.rows())
    who = _extract_options(build)["extractor"]
    return asked(
        build, "extract", program, who, before,
        lambda stage: functools.partial(steps.extract, extractor=stage.counted(program)),
    )  # fmt: skip


def _count_references(tally: Tally, record: Record) -> None:
    tally.out += len(record["references"])
    tally.drop("hallucinated", len(record["hallucinated"]))
    tally.drop("repeated", record["repeated"])
    tally.also["articles without references"] += not record["references"]
    tally.also[LM_FAILED] += len(record["failed"])


def _match_options(build: Build) -> Record:
    jats = [{key: one[key] for key in ("xml", "source", "doi")} for one in build.inputs]
    return {"threshold": build.config.threshold, "jats": jats}


def _match(build: Build, before: Done) -> Iterator[Record]:
    entries = {entry.id: entry for entry in build.entries}
    step = functools.partial(steps.match, threshold=build.config.threshold)

    def inputs() -> Iterator[Record]:
        for row in before.rows():
            entry = entries[row["id"]]
            yield row | {"xml": str(entry.xml), "source": entry.source, "doi": entry.doi}

    return mapped(build, "match", step, inputs())


def _count_matches(tally: Tally, record: Record) -> None:
    pairs, error = record["pairs"], record["error"]
    tally.out += len(pairs)
    tally.also["JATS references"] += len(pairs) + len(record["unmatched_jats"])
    if error is not None:
        tally.also["articles with an error"] += 1
    jats_failed = error is not None and not pairs and not record["unmatched_jats"]
    reason = "unreadable JATS" if jats_failed else "no JATS reference is near enough"
    tally.drop(reason, len(record["unmatched"]))


def _filter(build: Build, before: Done) -> Iterator[Record]:
    return mapped(build, "filter", steps.check, before.rows())


def _count_kept(tally: Tally, record: Record) -> None:
    for pair in record["pairs"]:
        tally.out += not pair["reasons"]
        tally.dropped.update(pair["reasons"])


def _describe_options(build: Build) -> Record:
    return {"describer": identity_of(build.config.describer, build.describer)}


def _describe(build: Build, before: Done) -> Iterator[Record]:
    program = build.describer
    if program is None:
        return mapped(build, "describe", steps.describe, before.rows())
    who = _describe_options(build)["describer"]
    return asked(
        build, "describe", program, who, before,
        lambda stage: functools.partial(steps.describe, describer=stage.counted(program)),
    )  # fmt: skip


def _count_described(tally: Tally, record: Record) -> None:
    tally.out += len(record["pairs"])
    tally.drop(LM_FAILED, len(record["failed"]))


def _sample_options(build: Build) -> Record:
    config = build.config
    return {"n": config.n, "seed": config.seed, "target": config.target, "draw": config.draw}


def _sample(build: Build, before: Done) -> Iterator[Record]:
    config = build.config
    pool = [pair for row in before.rows() for pair in row["pairs"]]
    firsts = first_of_each(pair["plaintext"] for pair in pool)
    unique = [pair for pair, first in zip(pool, firsts, strict=True) if first]
    drawn = sampling.sample(
        [card.features_of(pair, config.target) for pair in unique],
        config.n, config.seed, config.target, config.draw,
    )  # fmt: skip
    card.keep_sample(build.store.folder, drawn)
    card.keep_dropped(build.store.folder, pool, firsts, unique, drawn)
    yield from (unique[index] for index in drawn.chosen)


def _not_drawn(build: Build) -> Counter[str]:
    return Counter(row["reason"] for row in card.dropped(build.store.folder))


def _count_row(tally: Tally, record: Record) -> None:
    tally.out += 1


def _split_options(build: Build) -> Record:
    train, dev = build.config.train, build.config.dev
    shares = {"train": train, "dev": dev, "test": 1 - train - dev}
    return {"shares": shares, "seed": build.config.seed}


def _split(build: Build, before: Done) -> Iterator[Record]:
    rows = list(before.rows())
    articles = [row["citing_article_id"] for row in rows]
    splits = split_articles(articles, **_split_options(build))
    for row in rows:
        yield row | {"split": splits[row["citing_article_id"]]}


def _count_split(tally: Tally, record: Record) -> None:
    tally.out += 1
    tally.also[record["split"]] += 1


def _nothing(_: Build) -> Record:
    return {}


STAGES = (
    Stage("convert", ("articles", "articles"), _convert_options, _convert, _count_document),
    Stage("extract", ("articles", "references"), _extract_options, _extract, _count_references),
    Stage("match", ("references", "pairs"), _match_options, _match, _count_matches),
    Stage("filter", ("pairs", "pairs"), _nothing, _filter, _count_kept),
    Stage("describe", ("pairs", "pairs"), _describe_options, _describe, _count_described),
    Stage("sample", ("pairs", "rows"), _sample_options, _sample, _count_row, _not_drawn),
    Stage("split", ("rows", "rows"), _split_options, _split, _count_split),
)


def _nothing_left(done: Done) -> str:
    tally = done.tally
    reasons = [f"{reason} ({count})" for reason, count in tally.dropped.most_common(5)]
    errors = {str(row["error"]) for row in done.rows() if row.get("error")} - set(tally.dropped)
    reasons += sorted(errors)[:3]
    return (
        f"The stage `{done.name}` left nothing: of {tally.into} {tally.unit_in}, none became "
        f"{tally.unit_out}. Reasons: {'; '.join(reasons) or 'none given'}. "
        f"Each is in {done.path}."
    )
