"""The stages of a build, in order, and what each depends on."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from reno_dspy.base.errors import JobError
from reno_dspy.base.failures import FailureBudget
from reno_dspy.base.files import digest_json, sha256_file
from reno_dspy.base.progress import bar
from reno_dspy.build import card as build_report
from reno_dspy.build import local_engine as parallel
from reno_dspy.build import sample as sampling
from reno_dspy.build import steps as build_steps
from reno_dspy.build.config import STAGES, BuildConfig
from reno_dspy.build.lm_answers import LMStage
from reno_dspy.build.pdf.convert import Document
from reno_dspy.build.ray_engine import RayEngine
from reno_dspy.build.steps import Describer, Extractor
from reno_dspy.build.store import Done, Record, StageStore, Tally, fingerprint
from reno_dspy.data.corpus import Entry
from reno_dspy.data.split import first_of_each, split_articles

# Part of every stage's fingerprint: raise it when the same input would give other rows.
VERSION = 3
# What a stage counts, articles or pairs, when an LM gave no answer.
_LM_FAILED = "the LM failed"


class Pipeline:
    """One build: its configuration, its articles and its finished stages."""

    def __init__(
        self,
        config: BuildConfig,
        entries: list[Entry],
        store: StageStore,
        extractor: Extractor | None,
        describer: Describer | None,
    ) -> None:
        self.config, self.entries, self.store = config, entries, store
        self.extractor, self.describer = extractor, describer
        self.done: dict[str, Done] = {}
        self.engine = _engine(config)
        # The articles by content: what the first stage, and with it all others, depend on.
        self.inputs = [
            {
                "id": e.id, "pdf": sha256_file(e.pdf), "xml": sha256_file(e.xml),
                "source": e.source, "doi": e.doi,
            }
            for e in entries
        ]  # fmt: skip

    def depends_on(self) -> Record:
        """What the rows depend on besides the options: the articles by content, the LMs, this code."""
        return {
            "articles": digest_json(self.inputs),
            "extractor": _identity(self.config.extractor, self.extractor)["program"],
            "describer": _identity(self.config.describer, self.describer)["program"],
        }

    def run(self) -> dict[str, Done]:
        """All stages in order. Raises JobError when one leaves nothing."""
        with self.engine:
            for name in STAGES:
                step: Callable[[], Done] = getattr(self, f"_{name}")
                self.done[name] = step()
                if not self.done[name].tally.out:
                    raise JobError(_nothing_left(self.done[name]))
        return self.done

    def _stage(
        self,
        name: str,
        tally: Tally,
        options: Record,
        records: Callable[[Tally], Iterable[Record]],
        after: str | None = None,
    ) -> Done:
        depends_on = {"stage": name, "version": VERSION, **options}
        if after is not None:
            depends_on["input"] = self.done[after].sha256
        if self.config.stage != name:
            reusable = self.store.reusable(name, depends_on)
            if reusable is not None:
                return reusable
        return self.store.write(name, depends_on, records(tally), tally)

    def _convert(self) -> Done:
        timeout_s, memory_mb = self.config.timeout_s, self.config.memory_mb

        def records(tally: Tally) -> Iterator[Record]:
            tally.into = len(self.entries)
            paths = [entry.pdf for entry in self.entries]
            documents = self.engine.convert(paths, timeout_s, memory_mb)
            with bar("convert", len(paths)) as progress:
                for entry, document in zip(self.entries, documents, strict=True):
                    _count_document(tally, document)
                    progress.advance(note=f"{tally.dropped.total()} errors")
                    yield {
                        "id": entry.id, "pdf_sha256": document.sha256,
                        "markdown": document.markdown, "error": document.error,
                    }  # fmt: skip

        pdfs = [[one["id"], one["pdf"]] for one in self.inputs]
        options = {"pdfs": pdfs, "timeout_s": timeout_s, "memory_mb": memory_mb}
        return self._stage("convert", Tally("articles", "articles"), options, records)

    def _extract(self) -> Done:
        def records(tally: Tally) -> Iterator[Record]:
            tally.into = self.done["convert"].tally.out
            for record in self._extracted():
                tally.out += len(record["references"])
                tally.drop("hallucinated", len(record["hallucinated"]))
                tally.drop("repeated", record["repeated"])
                tally.also["articles without references"] += not record["references"]
                tally.also[_LM_FAILED] += len(record["failed"])
                yield record

        options = {"extractor": _identity(self.config.extractor, self.extractor)}
        tally = Tally("articles", "references")
        done = self._stage("extract", tally, options, records, after="convert")
        self._forget_answers("extract", failed=done.tally.also[_LM_FAILED])
        return done

    def _extracted(self) -> Iterator[Record]:
        rows = self.done["convert"].rows()
        if self.extractor is None:
            return self._mapped("extract", build_steps.extract, rows, len(self.entries))
        before, who = self.done["convert"], _identity(self.config.extractor, self.extractor)
        stage = self._lm_stage("extract", who, before, "articles", self.extractor)
        step = functools.partial(build_steps.extract, extractor=stage.counted(self.extractor))
        return self._asked(stage, step, before)

    def _lm_stage(
        self, name: str, who: Record, before: Done, units: str, program: Callable[..., object]
    ) -> LMStage:
        """An LM's answers: expensive, so they are kept and read again on resume."""
        key = fingerprint({"version": VERSION, "input": before.sha256, name: who})
        budget = FailureBudget(self.config.max_errors, before.tally.out, units)
        return LMStage(self._answers(name), key, budget, getattr(program, "start", None))

    def _asked(
        self, stage: LMStage, step: Callable[[Record], Record], before: Done
    ) -> Iterator[Record]:
        ids = [entry.id for entry in self.entries]
        return stage.records(step, before.rows(), ids, self.config.concurrency)

    def _answers(self, name: str) -> Path:
        return self.store.folder / f"{name}.partial.jsonl"

    def _forget_answers(self, name: str, failed: int) -> None:
        """Once a stage is whole; where some failed, `--stage` then asks for those alone."""
        if not failed:
            self._answers(name).unlink(missing_ok=True)

    def _match(self) -> Done:
        entries = {entry.id: entry for entry in self.entries}

        def inputs() -> Iterator[Record]:
            for row in self.done["extract"].rows():
                entry = entries[row["id"]]
                yield row | {"xml": str(entry.xml), "source": entry.source, "doi": entry.doi}

        def records(tally: Tally) -> Iterator[Record]:
            step = functools.partial(build_steps.match, threshold=self.config.threshold)
            tally.into = self.done["extract"].tally.out
            for record in self._mapped("match", step, inputs(), len(self.entries)):
                _count_matches(tally, record)
                yield record

        jats = [{key: one[key] for key in ("xml", "source", "doi")} for one in self.inputs]
        options = {"threshold": self.config.threshold, "jats": jats}
        return self._stage("match", Tally("references", "pairs"), options, records, "extract")

    def _filter(self) -> Done:
        def records(tally: Tally) -> Iterator[Record]:
            rows = self.done["match"].rows()
            tally.into = self.done["match"].tally.out
            for record in self._mapped("filter", build_steps.check, rows, len(self.entries)):
                for pair in record["pairs"]:
                    tally.out += not pair["reasons"]
                    tally.dropped.update(pair["reasons"])
                yield record

        return self._stage("filter", Tally("pairs", "pairs"), {}, records, after="match")

    def _describe(self) -> Done:
        def records(tally: Tally) -> Iterator[Record]:
            tally.into = self.done["filter"].tally.out
            for record in self._described():
                tally.out += len(record["pairs"])
                tally.drop(_LM_FAILED, len(record["failed"]))
                yield record

        options = {"describer": _identity(self.config.describer, self.describer)}
        tally = Tally("pairs", "pairs")
        done = self._stage("describe", tally, options, records, after="filter")
        self._forget_answers("describe", failed=done.tally.dropped[_LM_FAILED])
        return done

    def _described(self) -> Iterator[Record]:
        rows = self.done["filter"].rows()
        if self.describer is None:
            return self._mapped("describe", build_steps.describe, rows, len(self.entries))
        before, who = self.done["filter"], _identity(self.config.describer, self.describer)
        stage = self._lm_stage("describe", who, before, "pairs", self.describer)
        step = functools.partial(build_steps.describe, describer=stage.counted(self.describer))
        return self._asked(stage, step, before)

    def _sample(self) -> Done:
        config = self.config

        def records(tally: Tally) -> Iterator[Record]:
            pool = [pair for row in self.done["describe"].rows() for pair in row["pairs"]]
            firsts = first_of_each(pair["plaintext"] for pair in pool)
            unique = [pair for pair, first in zip(pool, firsts, strict=True) if first]
            drawn = sampling.sample(
                [build_report.features_of(pair, config.target) for pair in unique],
                config.n, config.seed, config.target, config.draw,
            )  # fmt: skip
            tally.into, tally.out = len(pool), len(drawn.chosen)
            tally.drop("duplicate", len(pool) - len(unique))
            tally.drop("not drawn", len(unique) - len(drawn.chosen))
            build_report.keep_sample(self.store.folder, drawn)
            build_report.keep_dropped(self.store.folder, pool, firsts, unique, drawn)
            yield from (unique[index] for index in drawn.chosen)

        options = {
            "n": config.n, "seed": config.seed, "target": config.target, "draw": config.draw,
        }  # fmt: skip
        return self._stage("sample", Tally("pairs", "rows"), options, records, after="describe")

    def _split(self) -> Done:
        shares = {
            "train": self.config.train,
            "dev": self.config.dev,
            "test": 1 - self.config.train - self.config.dev,
        }

        def records(tally: Tally) -> Iterator[Record]:
            rows = list(self.done["sample"].rows())
            articles = [row["citing_article_id"] for row in rows]
            splits = split_articles(articles, shares, self.config.seed)
            tally.into = tally.out = len(rows)
            for row in rows:
                tally.also[splits[row["citing_article_id"]]] += 1
                yield row | {"split": splits[row["citing_article_id"]]}

        options = {"shares": shares, "seed": self.config.seed}
        return self._stage("split", Tally("rows", "rows"), options, records, after="sample")

    def _mapped(
        self, name: str, step: Callable[[Record], Record], rows: Iterable[Record], total: int
    ) -> Iterator[Record]:
        with bar(name, total) as progress:
            for record in self.engine.map(step, rows):
                progress.advance()
                yield record


def _identity(name: str, program: Extractor | Describer | None) -> Record:
    """What a stage's rows depend on: the name, and for an LM program its model and prompt."""
    return {"name": name, "program": getattr(program, "identity", None)}


def _engine(config: BuildConfig) -> parallel.LocalEngine | RayEngine:
    return (RayEngine if config.engine == "ray" else parallel.LocalEngine)(config.workers)


def _count_document(tally: Tally, document: Document) -> None:
    if document.error is None:
        tally.out += 1
    else:
        tally.drop(document.error)


def _count_matches(tally: Tally, record: Record) -> None:
    tally.out += len(record["pairs"])
    tally.also["JATS references"] += len(record["pairs"]) + len(record["unmatched_jats"])
    if record["error"] is not None:
        tally.also["articles with an error"] += 1
    reason = "unreadable JATS" if _jats_failed(record) else "no JATS reference is near enough"
    tally.drop(reason, len(record["unmatched"]))


def _jats_failed(record: Record) -> bool:
    return record["error"] is not None and not record["pairs"] and not record["unmatched_jats"]


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
