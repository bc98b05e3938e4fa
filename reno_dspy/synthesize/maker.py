"""Makes rows, a unit at a time: some works, printed in one style and one locale.

What a unit holds follows from the seed and its number alone, so that units can be made in any order, by
any number of processes, and again after a crash.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from reno_dspy.data.noise import add_noise
from reno_dspy.data.split import side_of
from reno_dspy.jats.citation import MalformedXml, name_of, parse
from reno_dspy.jats.clean import clean_spans
from reno_dspy.jats.spans import Span, render
from reno_dspy.synthesize.config import SynthesizeConfig
from reno_dspy.synthesize.engine import Engine, EngineFailure
from reno_dspy.synthesize.kinds import Kinds, Work, as_it_is
from reno_dspy.synthesize.lexicon import load_lexicon
from reno_dspy.synthesize.marks import read_marks
from reno_dspy.synthesize.metadata import Item, publication_type
from reno_dspy.synthesize.people import Names
from reno_dspy.synthesize.places import place
from reno_dspy.synthesize.pool import Pool
from reno_dspy.synthesize.printed import Reference, Setting, as_printed, run_together
from reno_dspy.synthesize.styles import Locales, Style, Styles, language_of
from reno_dspy.synthesize.trim import Unplaced
from reno_dspy.synthesize.vary import Variation

# Works of a unit: loading a style takes as long as printing some twenty.
SIZE = 40
_ENGLISH = 0.22
# Share of a footnote style's references that are printed as footnotes; of two that run together; of
# units with whole given names before surnames, which few styles print.
_NOTES, _TOGETHER, _NATURAL = 0.4, 0.015, 0.1
_SHORTEST = 20

Record = dict[str, Any]
# What tells a reader what kind of work it is: one of these must be printed.
_SHOWS = {
    "journal": {"source"}, "chapter": {"source"}, "newspaper": {"source"}, "webpage": {"uri"},
    "confproc": {"source", "conf-name"}, "thesis": {"publisher-name"}, "patent": {"pub-id"},
    "preprint": {"source", "pub-id", "uri"}, "data": {"source", "pub-id", "uri"},
    "report": {"publisher-name", "pub-id"}, "standard": {"publisher-name", "pub-id"},
    "software": {"publisher-name", "version", "pub-id", "uri"},
}  # fmt: skip


@dataclass
class Unit:
    """The rows of a unit, each with the split it is in, and what was dropped, by reason."""

    number: int
    rows: list[Record] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)

    def as_record(self) -> Record:
        """JSON values."""
        return {
            "unit": self.number,
            "rows": self.rows,
            "dropped": dict(sorted(self.dropped.items())),
        }


@dataclass(frozen=True)
class _Page:
    """How the works of a unit are printed."""

    language: str
    style: Style
    locale: str | None
    note: bool


class Maker:
    """Makes units from items, in styles, by an engine."""

    def __init__(
        self, items: Sequence[Item], styles: Styles, locales: Locales, config: SynthesizeConfig
    ) -> None:
        """Make rows of `items` by `config`."""
        self._pool, self._styles, self._locales, self._config = Pool(items), styles, locales, config
        self._taught = {item.key for item in items if item.taught}
        lexicon = load_lexicon()
        names = Names(items, lexicon)
        self._kinds = Kinds(self._pool, names, lexicon)
        self._variation = Variation(self._pool, names, lexicon)
        self._engine = Engine(locales.folder)

    def close(self) -> None:
        """End the engine."""
        self._engine.close()

    def unit(self, number: int) -> Unit:
        """Unit `number`; the same every time."""
        rng = random.Random(f"{self._config.seed}:{number}")
        unit = Unit(number)
        page = self._page(rng)
        works = [self._work(page, rng) for _ in range(SIZE)]
        items = [{**work.csl, "id": str(i)} for i, work in enumerate(works)]
        try:
            printed = self._engine.render(page.style.path, page.locale, items, note=page.note)
        except EngineFailure:
            unit.dropped["style_failed"] += SIZE
            return unit
        made: list[tuple[Work, Reference]] = []
        for work, one in zip(works, printed, strict=True):
            if one.text is None:
                unit.dropped[one.dropped or "render_error"] += 1
                continue
            try:
                made.append((work, self._reference(one.text, work, page, rng)))
            except Unplaced as reason:
                unit.dropped[str(reason)] += 1
        self._collect(made, page, unit, rng)
        return unit

    def _page(self, rng: random.Random) -> _Page:
        config = self._config
        if config.locale:
            language = language_of(config.locale)
        else:
            language = self._pool.any_language(rng) or "en"
            if rng.random() < _ENGLISH:
                language = "en"
        natural = rng.random() < _NATURAL
        style = self._styles.draw(language, rng, natural=natural)
        locale = config.locale or style.locale or self._locales.draw(language, rng)
        in_note = style.note and (natural or rng.random() < _NOTES)
        note = in_note or not style.bibliography
        return _Page(language, style, locale, note)

    def _work(self, page: _Page, rng: random.Random) -> Work:
        if self._config.mix == "given":
            work = as_it_is(self._pool.any_item(rng))
        else:
            form = self._pool.form(rng)
            work = self._kinds.draw(form, self._pool.language(page.language, rng), rng)
        self._variation.apply(work, rng, whole_names=page.style.natural)
        if (translation := work.csl.get("translated-title")) and rng.random() < 0.6:
            work.csl["title"] = f"{work.csl['title']} [{translation}]"
        else:
            work.csl.pop("translated-title", None)
        return work

    def _reference(self, marked: str, work: Work, page: _Page, rng: random.Random) -> Reference:
        """One printed reference with its values in place. Raises Unplaced."""
        text, marks = read_marks(marked)
        if len(text) < _SHORTEST or "CSL STYLE ERROR" in text:
            raise Unplaced("too_short")
        spans = place(text, marks, work, page.style.initials)
        people = [(mark.start, mark.end) for mark in marks if mark.kind == "person"]
        # By the rules that every training row is cleaned by, so that all teach one way.
        spans = list(clean_spans(text, spans, publication_type(work.form)).spans)
        _check_names(text, spans, people)
        if not _shown(work.form, spans):
            raise Unplaced("kind_not_shown")
        setting = Setting(page.language, work.item.language, page.note, page.style.small_caps)
        reference = as_printed(Reference(text, tuple(spans)), setting, rng)
        noisy, moved = add_noise(reference.text, reference.spans, self._config.noise, rng)
        return Reference(noisy, tuple(moved))

    def _collect(
        self, made: Sequence[tuple[Work, Reference]], page: _Page, unit: Unit, rng: random.Random
    ) -> None:
        """Rows of the references of a unit; now and then two in one."""
        together = {i for i in range(len(made) - 1) if rng.random() < _TOGETHER}
        skip = False
        for i, (work, reference) in enumerate(made):
            if skip:
                skip = False
                continue
            works = [work]
            if i in together and self._may_join(work, *made[i + 1]):
                reference = run_together(reference, made[i + 1][1], rng)
                works.append(made[i + 1][0])
                skip = True
            row = self._row(works, reference, page, f"{self._config.seed}-{unit.number}-{i}")
            if isinstance(row, str):
                unit.dropped[row] += 1
            else:
                unit.rows.append(row)

    def _may_join(self, work: Work, other: Work, reference: Reference) -> bool:
        same = self._side(work) == self._side(other)
        return same and reference.first("label") is None

    def _side(self, work: Work) -> str:
        side = side_of(work.item.key, self._config.dev, self._config.test)
        # What a real row teaches cannot be measured on.
        return "train" if work.item.key in self._taught else side

    def _row(
        self, works: Sequence[Work], reference: Reference, page: _Page, number: str
    ) -> Record | str:
        """The row of a reference to `works`; or, as one word, what is wrong with it."""
        work = works[0]
        kind = publication_type(work.form)
        try:
            xml = render(reference.text, reference.spans, kind)
            whole = "".join(parse(xml).itertext()) == reference.text
        except (MalformedXml, ValueError):
            return "not_annotated"
        if not whole:
            return "not_annotated"
        return {
            "split": self._side(work),
            "id": number,
            "plaintext": reference.text,
            "xml": xml,
            "source": "synthetic",
            "citing_article_id": "+".join(one.item.id for one in works),
            "language": work.item.language,
            "publication_type": kind,
            "has_pid": any(span.field == "pub-id" for span in reference.spans),
            "licence": work.item.licence,
            "provenance": work.item.provenance,
            "style": page.style.id,
            "locale": page.locale,
        }


def _shown(form: str, spans: Sequence[Span]) -> bool:
    """Whether a reference shows what it cites: enough of it, and of which kind."""
    fields = {span.field for span in spans} - {"label", "year"}
    return bool(fields & _SHOWS[form]) if form in _SHOWS else bool(fields)


def _check_names(text: str, spans: Sequence[Span], people: Sequence[tuple[int, int]]) -> None:
    """Check that the annotation keeps each person's name together, and no two. Raises Unplaced.

    Names are grouped anew by what stands between their parts, so a single name before a whole one can
    run into it.
    """
    parts = [span for span in spans if span.field in ("surname", "given-names", "suffix")]
    if not parts:
        return
    wanted = Counter(
        next((i for i, (start, end) in enumerate(people) if start <= part.start < end), -1)
        for part in parts
    )
    root = parse(render(text, spans))
    found = [
        sum(name_of(inner) in ("surname", "given-names", "suffix") for inner in name)
        for name in root.iter("string-name")
    ]
    if [wanted[i] for i in sorted(wanted)] != found or -1 in wanted:
        raise Unplaced("names_run_together")
