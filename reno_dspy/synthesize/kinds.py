"""Works of every kind in every language, also where the metadata hold few of them.

A newspaper article, a patent, a preprint, or any work in a language of which only titles are known, is made
from a real title (and its people, where it has some): where it appeared is drawn from the lexicon and from
the other works of its language, its numbers and dates at random.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reno_dspy.synthesize.lexicon import Lexicon, choice, placed
from reno_dspy.synthesize.metadata import Item
from reno_dspy.synthesize.people import Names, is_latin
from reno_dspy.synthesize.pool import Pool

Csl = dict[str, Any]

# With so many works of a kind in a language, every other one is made instead.
_ENOUGH = 60
_PATENTS: Mapping[str, tuple[str, str]] = {
    "US": ("US {a},{b:03d},{b2:03d} B2", "U.S. Patent and Trademark Office"),
    "us": ("{a},{b:03d},{b2:03d}", "United States Patent and Trademark Office"),
    "EP": ("EP {a} {b:03d} {b2:03d} A1", "European Patent Office"),
    "WO": ("WO {year}/{n:06d} A1", "World Intellectual Property Organization"),
    "DE": ("DE 10 {year} {b:03d} {b2:03d} A1", "Deutsches Patent- und Markenamt"),
    "CN": ("CN{n9}A", "China National Intellectual Property Administration"),
    "JP": ("JP {year}-{n:06d} A", "Japan Patent Office"),
    "BR": ("BR {year} {n:06d}", "Instituto Nacional da Propriedade Industrial"),
}
_SERVERS: Mapping[str, str] = {
    "bioRxiv": "10.1101/{year}.{month:02d}.{day:02d}.{n:06d}",
    "medRxiv": "10.1101/{year}.{month:02d}.{day:02d}.{n8}",
    "PsyArXiv": "10.31234/osf.io/{code}",
    "SocArXiv": "10.31235/osf.io/{code}",
    "Research Square": "10.21203/rs.3.rs-{n}/v1",
    "Preprints.org": "10.20944/preprints{year}{month:02d}.{b:04d}.v1",
    "SSRN": "10.2139/ssrn.{n7}",
    "ChemRxiv": "10.26434/chemrxiv-{year}-{code}",
    "SciELO Preprints": "10.1590/SciELOPreprints.{b}",
}
_REPOSITORIES: Mapping[str, str] = {
    "Zenodo": "10.5281/zenodo.{n7}",
    "Dryad": "10.5061/dryad.{code}",
    "Dryad Digital Repository": "10.5061/dryad.{code}",
    "figshare": "10.6084/m9.figshare.{n8}",
    "Harvard Dataverse": "10.7910/DVN/{CODE}",
    "PANGAEA": "10.1594/PANGAEA.{n}",
    "UK Data Service": "10.5255/UKDA-SN-{b}-1",
    "GESIS Data Archive": "10.4232/1.{b}",
    "Mendeley Data": "10.17632/{code}.1",
    "Open Science Framework": "10.17605/OSF.IO/{CODE}",
}
_TOOL = re.compile(
    r"([A-Za-z][\w.+-]{2,20}): (?:an? |the )?.*\b(?:software|package|tool|toolbox|library|framework|"
    r"program|toolkit|platform|implementation|system)\b",
    re.IGNORECASE,
)
_CODE_HOSTS = (
    "GitHub",
    "Zenodo",
    "CRAN",
    "Python Package Index",
    "GitLab",
    "SourceForge",
    None,
    None,
)


@dataclass(frozen=True)
class Work:
    """One work to render: its CSL-JSON, its form, and the item that it is or whose title it has."""

    csl: Csl
    form: str
    item: Item


class Kinds:
    """Draws works of a kind in a language from a pool, and makes those that it lacks."""

    def __init__(self, pool: Pool, names: Names, lexicon: Lexicon) -> None:
        """Draw from `pool`, `names` and `lexicon`."""
        self._pool, self._names, self._lexicon = pool, names, lexicon
        self._make: Mapping[str, Callable[[Item, random.Random], Csl | None]] = {
            "journal": self._journal, "book": self._book, "chapter": self._chapter,
            "thesis": self._thesis, "newspaper": self._newspaper, "preprint": self._preprint,
            "patent": self._patent, "data": self._data, "software": self._software,
        }  # fmt: skip

    def draw(self, form: str, language: str | None, rng: random.Random) -> Work:
        """A work of `form` in `language`, as near to that as can be had."""
        known = self._pool.items(form, language)
        make = self._make.get(form)
        donors = self._pool.donors(language)
        if make and donors and rng.random() >= len(known) / (len(known) + _ENOUGH):
            donor = rng.choice(donors)
            if made := make(donor, rng):
                return Work(made, form, donor)
        item = rng.choice(known or donors or [self._pool.any_item(rng)])
        return as_it_is(item)

    def _authors(self, donor: Item, rng: random.Random, most: int = 4) -> list[Csl]:
        """The donor's people, where they write their names as it its title; else others."""
        people = [copy.deepcopy(p) for p in donor.csl.get("author", ()) if "family" in p]
        latin = is_latin(donor.csl["title"])
        if people and all(is_latin(person["family"]) == latin for person in people):
            return people
        return self._names.several(donor.language, rng, most)

    def _start(self, donor: Item, kind: str, rng: random.Random) -> Csl:
        csl: Csl = {"type": kind, "title": donor.csl["title"], "author": self._authors(donor, rng)}
        if donor.language:
            csl["language"] = donor.language
        csl["issued"] = donor.csl.get("issued") or year(rng)
        return copy.deepcopy(csl)

    def _from_known(self, form: str, language: str | None, field: str, rng: random.Random) -> Any:
        """The `field` of another work of this form in this language; None where there is none."""
        known = self._pool.items(form, language)
        return rng.choice(known).csl.get(field) if known else None

    def _journal(self, donor: Item, rng: random.Random) -> Csl | None:
        title = choice(self._lexicon.of(donor.language).journals, rng)
        title = title or self._from_known("journal", donor.language, "container-title", rng)
        if not title:
            return None
        csl = self._start(donor, "article-journal", rng) | {"container-title": title}
        csl["volume"] = str(rng.randint(1, 90))
        csl["issue"] = str(rng.randint(1, 12))
        return csl | {"page": pages(rng)}

    def _published(self, language: str | None, rng: random.Random) -> Csl | None:
        known = choice(self._lexicon.of(language).publishers, rng)
        if known is None:
            return None
        name, place = placed(known)
        return {"publisher": name, "publisher-place": place}

    def _book(self, donor: Item, rng: random.Random) -> Csl | None:
        published = self._published(donor.language, rng)
        return self._start(donor, "book", rng) | published if published else None

    def _chapter(self, donor: Item, rng: random.Random) -> Csl | None:
        book = self._book(donor, rng)
        if book is None:
            return None
        other = rng.choice(self._pool.donors(donor.language)).csl["title"]
        book |= {"type": "chapter", "container-title": other, "page": pages(rng)}
        return book | {"editor": self._names.several(donor.language, rng, 3)}

    def _thesis(self, donor: Item, rng: random.Random) -> Csl | None:
        words = self._lexicon.of(donor.language)
        if not (words.universities and words.theses):
            return None
        name, place = placed(rng.choice(words.universities))
        csl = self._start(donor, "thesis", rng)
        csl["author"] = csl["author"][:1]
        return csl | {
            "publisher": name,
            "publisher-place": place,
            "genre": rng.choice(words.theses),
        }

    def _newspaper(self, donor: Item, rng: random.Random) -> Csl | None:
        paper = choice(self._lexicon.of(donor.language).newspapers, rng)
        if not paper or len(donor.csl["title"]) > 120:
            return None
        csl = self._start(donor, "article-newspaper", rng) | {"container-title": paper}
        csl["author"] = csl["author"][: rng.choice((0, 1, 1, 1, 2))]
        csl["issued"] = date(rng, 1970)
        if rng.random() < 0.5:
            page = rng.choice(("{}", "A{}", "{}-{}", "C{}", "{}")).format(*[rng.randint(1, 40)] * 2)
            csl["page"] = re.sub(r"^(\d+)-\d+$", lambda m: f"{m[1]}-{int(m[1]) + 1}", page)
        elif is_latin(paper):
            site = re.sub(r"[^a-z]", "", paper.lower())
            words = re.findall(r"[a-z]+", donor.csl["title"].lower())[:6]
            csl["URL"] = f"https://www.{site}.com/{_numbers(rng)['year']}/{'-'.join(words)}"
        return csl

    def _preprint(self, donor: Item, rng: random.Random) -> Csl | None:
        if donor.form not in ("journal", "confproc", "preprint"):
            return None
        csl = self._start(donor, "article", rng)
        numbers = _numbers(rng)
        csl["issued"] = {"date-parts": [[numbers["year"]]]}
        if rng.random() < 0.45:
            short = "{y:02d}{month:02d}.{n5:05d}".format(**numbers)
            if rng.random() < 0.5:
                return csl | {
                    "type": "article-journal",
                    "container-title": f"arXiv preprint arXiv:{short}",
                }
            csl |= {"publisher": "arXiv", "number": f"arXiv:{short}"}
            return csl | ({"URL": f"https://arxiv.org/abs/{short}"} if rng.random() < 0.5 else {})
        server, form = rng.choice(list(_SERVERS.items()))
        field = rng.choice(("publisher", "container-title"))
        return csl | {field: server, "DOI": form.format(**numbers), "genre": "Preprint"}

    def _patent(self, donor: Item, rng: random.Random) -> Csl | None:
        if donor.form not in ("journal", "confproc", "report", "patent", "standard"):
            return None
        csl = self._start(donor, "patent", rng)
        form, office = _PATENTS[rng.choice(list(_PATENTS))]
        issued = date(rng, 1975)
        numbers = _numbers(rng) | {"year": issued["date-parts"][0][0]}
        csl |= {"number": form.format(**numbers), "issued": issued}
        if rng.random() < 0.4:
            csl["authority"] = office
        return csl

    def _data(self, donor: Item, rng: random.Random) -> Csl | None:
        if donor.form not in ("journal", "report", "confproc", "data", "thesis"):
            return None
        csl = self._start(donor, "dataset", rng)
        if csl.get("language") == "en" and rng.random() < 0.5:
            form = rng.choice(
                ("Data from: {}", "Replication data for: {}", "Supplementary data for {}")
            )
            csl["title"] = form.format(csl["title"])
        numbers = _numbers(rng)
        repository, doi = rng.choice(list(_REPOSITORIES.items()))
        csl |= {"publisher": repository, "DOI": doi.format(**numbers)}
        csl["issued"] = {"date-parts": [[numbers["year"]]]}
        if rng.random() < 0.35:
            csl["version"] = rng.choice(("1.0", "1", "2", "2.1", "V1", "V2", "1.0.0", "3.0.1"))
        return csl

    def _software(self, donor: Item, rng: random.Random) -> Csl | None:
        if not _TOOL.match(donor.csl["title"]):
            return None
        csl = self._start(donor, "software", rng)
        name = re.match(r"[\w.+-]+", csl["title"])
        host = rng.choice(_CODE_HOSTS)
        if host:
            csl["publisher"] = host
        csl["version"] = version(rng)
        if name and host in ("GitHub", "GitLab", None):
            owner = re.sub(r"\W", "", csl["author"][0].get("family", "lab")).lower()
            csl["URL"] = f"https://github.com/{owner}/{name.group()}"
        elif host == "Zenodo":
            csl["DOI"] = _REPOSITORIES["Zenodo"].format(**_numbers(rng))
        return csl


def as_it_is(item: Item) -> Work:
    """The work that an item is."""
    return Work(copy.deepcopy(dict(item.csl)), item.form, item)


def year(rng: random.Random) -> Csl:
    """A year, more often a late one."""
    return {"date-parts": [[2025 - int(45 * rng.random() ** 2)]]}


def date(rng: random.Random, first: int) -> Csl:
    """A day from the year `first` on."""
    return {"date-parts": [[rng.randint(first, 2025), rng.randint(1, 12), rng.randint(1, 28)]]}


def version(rng: random.Random) -> str:
    """A version of software, such as `3.0.12`."""
    return ".".join(str(rng.randint(0, 12)) for _ in range(rng.choice((2, 3, 3))))


def pages(rng: random.Random) -> str:
    """A range of pages."""
    start = int(10 ** rng.uniform(0, 3.2))
    return f"{start}-{start + rng.randint(2, 30)}"


def _numbers(rng: random.Random) -> dict[str, Any]:
    """What identifiers are made of."""
    year = rng.randint(2008, 2025)
    code = "".join(rng.choice("abcdefghjkmnpqrstuvwxyz23456789") for _ in range(5))
    return {
        "year": year, "y": year % 100, "month": rng.randint(1, 12), "day": rng.randint(1, 28),
        "a": rng.randint(4, 11), "b": rng.randint(100, 999), "b2": rng.randint(0, 999),
        "n": rng.randint(100000, 999999), "n5": rng.randint(1, 19999), "n7": rng.randint(10**6, 10**7 - 1),
        "n8": rng.randint(10**7, 10**8 - 1), "n9": rng.randint(10**8, 10**9 - 1), "code": code,
        "CODE": code.upper(),
    }  # fmt: skip
