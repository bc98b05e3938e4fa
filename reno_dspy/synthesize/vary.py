"""What else a reference may print of a work, or leave out: fields added, dropped and drawn anew.

Metadata say little of some things that printed references often have: months and days, access dates,
editions, series, translators, suffixes, article numbers. Each is put in at the rate given here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from reno_dspy.synthesize.kinds import Csl, Work, date, version
from reno_dspy.synthesize.lexicon import Lexicon
from reno_dspy.synthesize.people import Names, is_initials, with_suffix
from reno_dspy.synthesize.pool import Pool

_LATE = 1995
_EDITIONS: Mapping[str, tuple[str, ...]] = {
    "de": (
        "2., überarb. Aufl.",
        "3., erw. Aufl.",
        "4., aktualisierte Auflage",
        "Neuausgabe",
        "1. Auflage",
    ),
    "en": ("2nd rev. ed.", "3rd ed., revised", "Revised edition", "International ed.", "1st ed."),
    "es": ("2.ª ed. rev.", "3a edición", "1a ed.", "2.ª edición ampliada"),
    "pt": ("2. ed. rev. ampl.", "5. ed.", "3ª edição", "1. ed.", "2ª ed. revista"),
    "fr": ("2e éd. revue et augmentée", "nouvelle édition", "3e édition"),
    "it": ("2a ed.", "3. ed. riveduta", "nuova edizione"),
    "ru": ("2-е изд., испр. и доп.", "3-е изд.", "Изд. 4-е"),
    "pl": ("wyd. 2", "wyd. 3 popr.", "wydanie drugie"),
    "cs": ("2. vyd.", "3., dopl. vyd."),
    "zh": ("第2版", "第3版", "修订版"),
    "ja": ("第2版", "改訂版", "新版"),
}
_ISSUES = (
    "Suppl",
    "Suppl. 1",
    "Suppl 2",
    "S1",
    "12/13",
    "1/2",
    "3-4",
    "Special Issue",
    "Pt 2",
    "2 Suppl 1",
)
_SEASONS = (1, 2, 3, 4)
# Works that many people write together.
_CROWDED = frozenset({"journal", "confproc", "preprint", "data"})
# Works that are known by their address or number.
_BY_ADDRESS = frozenset({"webpage", "data", "preprint", "patent", "standard"})


class Variation:
    """Changes works at random, so that what references print of them differs."""

    def __init__(self, pool: Pool, names: Names, lexicon: Lexicon) -> None:
        """Draw series from `pool`, people from `names`."""
        self._pool, self._names, self._lexicon = pool, names, lexicon
        # In this order, so that the same seed gives the same.
        self._changes: tuple[Callable[[Work, random.Random], None], ...] = (
            self._dates, self._locators, self._book, self._identifiers, self._events,
            self._dropped, self._as_other_kind,
        )  # fmt: skip

    def apply(self, work: Work, rng: random.Random, *, whole_names: bool = False) -> None:
        """Change `work.csl` in place. `whole_names`: the style prints them, so that initials go."""
        self._people(work, rng, 1.0 if whole_names else 0.5)
        for change in self._changes:
            change(work, rng)

    def _people(self, work: Work, rng: random.Random, whole_names: float) -> None:
        csl, language = work.csl, work.item.language
        authors = [person for person in csl.get("author", ()) if "family" in person]
        if any(is_initials(p.get("given", "")) for p in authors) and rng.random() < whole_names:
            for person in authors:
                if person.get("given") and is_initials(person["given"]):
                    person["given"] = self._names.given(person, language, rng)
        if authors and rng.random() < 0.04:
            place = rng.randrange(len(csl["author"]))
            csl["author"][place] = with_suffix(csl["author"][place], language, rng)
        if authors and work.form in _CROWDED and rng.random() < 0.12:
            csl["author"] += [self._names.draw(language, rng) for _ in range(rng.randint(2, 9))]
        if (
            authors
            and language == "en"
            and rng.random() < 0.012
            and (body := self._names.body(rng))
        ):
            csl["author"] = [*csl["author"], body] if rng.random() < 0.4 else [body]
        if work.form == "book" and authors and rng.random() < 0.07:
            csl["translator"] = self._names.several(language, rng, 2)
        if work.form == "chapter" and "editor" not in csl and rng.random() < 0.7:
            csl["editor"] = self._names.several(language, rng, 3)
        if work.form == "book" and authors and "editor" not in csl and rng.random() < 0.12:
            # An edited volume: no author, or one beside the editors.
            csl["editor"] = (
                csl.pop("author") if rng.random() < 0.8 else self._names.several(language, rng, 2)
            )

    def _dates(self, work: Work, rng: random.Random) -> None:
        csl = work.csl
        parts = csl.get("issued", {}).get("date-parts", [[]])[0]
        share = {
            "journal": 0.2, "webpage": 0.5, "newspaper": 0.97, "confproc": 0.2, "report": 0.2,
            "preprint": 0.25, "legal-doc": 0.5, "data": 0.2, "software": 0.2, "patent": 0.9,
        }  # fmt: skip
        if len(parts) == 1 and rng.random() < share.get(work.form, 0.03):
            month, day = rng.randint(1, 12), rng.randint(1, 28)
            with_day = rng.random() < (
                0.25 if work.form in ("journal", "report", "confproc") else 0.8
            )
            csl["issued"] = {
                "date-parts": [[parts[0], month, day] if with_day else [parts[0], month]]
            }
        elif len(parts) == 1 and work.form == "journal" and rng.random() < 0.1:
            csl["issued"] = {"date-parts": [[parts[0]]], "season": rng.choice(_SEASONS)}
        if work.form == "webpage" and not parts and rng.random() < 0.6:
            csl["issued"] = date(rng, 2005)
        if work.form == "book" and parts and parts[0] > 1950 and rng.random() < 0.03:
            csl["original-date"] = {"date-parts": [[parts[0] - rng.randint(15, 120)]]}
        if "URL" in csl and "accessed" not in csl and rng.random() < 0.55:
            csl["accessed"] = date(rng, 2005)

    def _locators(self, work: Work, rng: random.Random) -> None:
        csl = work.csl
        if work.form == "newspaper":
            csl.pop("volume", None)
        if work.form != "journal":
            return
        draw = rng.random()
        if draw < 0.06 and "issue" in csl:
            csl.pop("volume", None)
        elif draw < 0.10 and "volume" in csl:
            csl["issue"] = rng.choice(_ISSUES)
        elif draw < 0.35 and "volume" in csl:
            csl.setdefault("issue", str(rng.randint(1, 12)))
        if rng.random() < 0.10:
            csl["page"] = rng.choice((
                f"e{rng.randint(1000, 999999)}", f"e{rng.randint(10**6, 10**8)}",
                f"{rng.randint(1, 99999):06d}", f"{rng.randint(100000, 199999)}",
                f"{rng.randint(10000, 99999)}", f"Article {rng.randint(1, 999)}",
            ))  # fmt: skip
        if rng.random() < 0.015:
            csl["status"] = "in press"
            for name in ("volume", "issue", "page"):
                csl.pop(name, None)

    def _book(self, work: Work, rng: random.Random) -> None:
        csl, language = work.csl, work.item.language
        if work.form not in ("book", "chapter", "thesis"):
            return
        if work.form != "thesis" and "edition" not in csl and rng.random() < 0.16:
            own = _EDITIONS.get(language or "en", ())
            csl["edition"] = (
                rng.choice(own) if own and rng.random() < 0.35 else str(rng.randint(2, 9))
            )
        if work.form != "thesis" and "collection-title" not in csl and rng.random() < 0.2:
            self._add_series(csl, language, rng)
        if work.form != "chapter" and "number-of-pages" not in csl and rng.random() < 0.2:
            csl["number-of-pages"] = str(rng.randint(40, 900))
        if work.form == "book" and rng.random() < 0.05:
            csl["volume"] = rng.choice(("1", "2", "3", "II", "IV"))
        elif (
            work.form == "thesis"
            and (own := self._lexicon.of(language).theses)
            and rng.random() < 0.7
        ):
            csl["genre"] = rng.choice(own)

    def _add_series(self, csl: Csl, language: str | None, rng: random.Random) -> None:
        known = self._pool.items("book", language)
        for _ in range(12):
            other: Mapping[str, Any] = rng.choice(known).csl if known else {}
            if "collection-title" in other:
                csl["collection-title"] = other["collection-title"]
                if rng.random() < 0.6:
                    csl["collection-number"] = str(rng.randint(1, 220))
                return

    def _as_other_kind(self, work: Work, rng: random.Random) -> None:
        """Types that many styles do not know are given as those that stood for them before.

        Software has a version, which most of its metadata lack.
        """
        if work.form == "software" and "version" not in work.csl and rng.random() < 0.7:
            work.csl["version"] = version(rng)
        older = {"software": "book", "standard": "report"}.get(work.form)
        if older and rng.random() < 0.5:
            work.csl["type"] = older

    def _identifiers(self, work: Work, rng: random.Random) -> None:
        csl = work.csl
        parts = csl.get("issued", {}).get("date-parts", [[0]])[0]
        if "DOI" not in csl and parts[0] >= _LATE:
            share = {"journal": 0.35, "confproc": 0.2, "chapter": 0.15, "report": 0.05}.get(
                work.form, 0
            )
            if rng.random() < share:
                csl["DOI"] = _doi(parts[0], rng)
        if work.form == "journal" and work.item.language in ("en", None) and parts[0] > 1970:
            if rng.random() < 0.06:
                csl["PMID"] = str(rng.randint(1_000_000, 39_999_999))
            if rng.random() < 0.03:
                csl["PMCID"] = f"PMC{rng.randint(1_000_000, 9_999_999)}"
        if work.form == "book" and rng.random() < 0.06:
            digits = f"{rng.randint(0, 10**9 - 1):09d}"
            csl["ISBN"] = f"978-{digits[0]}-{digits[1:4]}-{digits[4:]}-{rng.randint(0, 9)}"
        if "URL" in csl and "DOI" in csl and rng.random() < 0.6:
            del csl["URL"]

    def _events(self, work: Work, rng: random.Random) -> None:
        csl = work.csl
        title = csl.get("container-title", "")
        for start in (
            "Proceedings of the ",
            "Actes du ",
            "Anais do ",
            "Actas del ",
            "Proceedings of ",
        ):
            if work.form == "confproc" and title.startswith(start) and rng.random() < 0.35:
                # Styles ask for the one or the other.
                csl["event"] = csl["event-title"] = title.removeprefix(start)
                if place := csl.get("publisher-place"):
                    csl["event-place"] = place
                if rng.random() < 0.5:
                    del csl["container-title"]
                return

    def _dropped(self, work: Work, rng: random.Random) -> None:
        csl = work.csl
        rates = {"issue": 0.06, "page": 0.03, "DOI": 0.25, "publisher-place": 0.08, "publisher": 0.04,
                 "issued": 0.012, "URL": 0.1, "genre": 0.1, "number": 0.03, "ISBN": 0.4}  # fmt: skip
        for name, rate in rates.items():
            needed = work.form in _BY_ADDRESS and name in ("URL", "DOI", "number")
            if name in csl and not needed and rng.random() < rate:
                del csl[name]


def _doi(year: int, rng: random.Random) -> str:
    """A DOI of one of the forms that are most common."""
    number = rng.randint(100, 9999)
    form = rng.choice((
        "10.1016/j.{letters}.{year}.{m:02d}.{n:03d}", "10.1007/s{a}-0{y:02d}-{n:04d}-{b}",
        "10.1371/journal.pone.{seven:07d}", "10.1002/{letters}.{a}", "10.1080/{a:08d}.{year}.{b7}",
        "10.1093/{letters}/{letters}{n:03d}", "10.1590/S0100-{n:04d}{year}000{b}00007",
        "10.3390/{letters}{n}0{b}", "10.1111/{letters}.{a}", "10.1177/{b7}{year}{n:04d}",
        "10.1038/s41598-0{y:02d}-{a}-{b}", "10.1103/PhysRev{upper}.{n2}.{a}", "10.1145/{b7}.{b7}",
        "10.1109/{upper}{upper}.{year}.{b7}", "10.1037/0022-{n:04d}.{n2}.{b}.{n:03d}",
        "10.1186/1471-2105-{n2}-{n}", "10.4000/{letters}.{a}", "10.1017/S{b7}{y:02d}{n:05d}",
    ))  # fmt: skip
    letters = "".join(rng.choice("abcdefghijlmnoprstuv") for _ in range(rng.randint(2, 6)))
    return form.format(
        letters=letters, upper=letters[:1].upper(), year=year, y=year % 100, m=rng.randint(1, 12),
        n=number, n2=rng.randint(1, 99), a=rng.randint(10000, 99999), b=rng.randint(1, 9),
        b7=rng.randint(1000000, 9999999), seven=rng.randint(1, 300000),
    )  # fmt: skip
