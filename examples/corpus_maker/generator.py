"""Draws an article's list of distinct fictional works from a seeded random generator."""

import random
from dataclasses import replace

from . import vocabulary
from .vocabulary import Vocabulary
from .work import Person, Work

# Cited languages by the article's language: mostly its own, then English, then the others.
CITED = {
    "en": ["en"] * 12 + ["fr", "de", "es", "pt", "it"],
    "pt": ["pt"] * 9 + ["en"] * 4 + ["es"] * 2 + ["fr", "it"],
    "es": ["es"] * 9 + ["en"] * 4 + ["pt"] * 2 + ["fr", "it"],
    "fr": ["fr"] * 9 + ["en"] * 4 + ["de", "it", "es"],
    "de": ["de"] * 10 + ["en"] * 4 + ["fr", "it"],
}
KINDS = ("journal", "book", "chapter", "thesis", "confproc", "webpage", "report")
SHARES = {
    "nature": (60, 10, 11, 5, 6, 4, 4),
    "health": (63, 9, 9, 5, 4, 5, 5),
    "culture": (44, 20, 17, 6, 4, 5, 4),
}  # percent, in the order of KINDS
TEMPLATE = {"book": "book", "webpage": "web", "report": "report"}


def kinds(domain: str, count: int, rng: random.Random) -> list[str]:
    """`count` kinds in the shares of the domain (largest remainders), shuffled."""
    exact = {kind: share * count / 100 for kind, share in zip(KINDS, SHARES[domain], strict=True)}
    whole = {kind: int(value) for kind, value in exact.items()}
    rest = sorted(exact, key=lambda kind: whole[kind] - exact[kind])
    for kind in rest[: count - sum(whole.values())]:
        whole[kind] += 1
    drawn = [kind for kind, number in whole.items() for _ in range(number)]
    rng.shuffle(drawn)
    return drawn


def people(words: Vocabulary, rng: random.Random, most: int) -> tuple[Person, ...]:
    """Up to `most` persons; about one in twenty carries a suffix."""
    names = rng.sample(words.surnames, min(most, rng.choice([1, 1, 2, 2, 3, 3, 4, 6, 8])))
    return tuple(
        Person(
            name,
            rng.choice(words.given),
            rng.choice(words.suffixes) if words.suffixes and rng.random() < 0.06 else "",
        )
        for name in names
    )


def pages(rng: random.Random) -> tuple[str, str]:
    """A first and a last page, at most 28 apart."""
    first = rng.randint(1, 640)
    return str(first), str(first + rng.randint(4, 28))


def doi(year: str, rng: random.Random) -> str:
    """An identifier under the test prefix 10.5555, which resolves to nothing."""
    letters = "".join(rng.choice("abcdefghkmnprstvwz") for _ in range(rng.randint(3, 5)))
    return f"10.5555/{letters}.{year}.{rng.randint(100, 9999)}"


def _journal(base: Work, words: Vocabulary, domain: str, rng: random.Random) -> Work:
    source, abbr = rng.choice(words.journals[domain])
    fpage, lpage = pages(rng)
    electronic = int(base.year) > 2000 and rng.random() < 0.3
    return replace(
        base,
        source=source,
        source_abbr=abbr,
        volume=str(rng.randint(2, 68)),
        issue="" if rng.random() < 0.2 else rng.choice(["1", "2", "3", "4", "6", "1-2", "12"]),
        fpage="" if electronic else fpage,
        lpage="" if electronic else lpage,
        elocation=f"e{rng.randint(101, 2400)}" if electronic else "",
        doi=doi(base.year, rng) if rng.random() < 0.5 else "",
    )


def _part(base: Work, words: Vocabulary, domain: str, rng: random.Random) -> Work:
    """A chapter or a conference paper."""
    fpage, lpage = pages(rng)
    base = replace(base, fpage=fpage, lpage=lpage)
    if base.kind == "chapter":
        publisher, place = rng.choice(words.publishers)
        source = vocabulary.title(words, domain, "book", rng)
        taken = {author.surname for author in base.authors}
        editors = tuple(p for p in people(words, rng, 3) if p.surname not in taken)
        return replace(base, source=source, editors=editors, publisher=publisher, place=place)
    conference, place = rng.choice(words.conferences)
    publisher = words.publishers[0][0]
    return replace(base, source=conference, publisher=publisher, place=place)


def _whole(base: Work, words: Vocabulary, rng: random.Random) -> Work:
    """A book, a thesis, a web page or a report."""
    if base.kind == "book":
        publisher, place = rng.choice(words.publishers)
        edition = rng.choice([1, 1, 1, 2, 3])
        return replace(base, publisher=publisher, place=place, edition=edition)
    if base.kind == "thesis":
        publisher, place = rng.choice(words.universities)
        return replace(base, publisher=publisher, place=place, authors=base.authors[:1])
    place = rng.choice(words.publishers)[1]
    folder = rng.choice(["docs", "open", "themes", "p"])
    url = f"{rng.choice(words.sites)}/{folder}/{rng.randint(11, 990)}"
    accessed = (rng.randint(2019, 2024), rng.randint(1, 12), rng.randint(1, 28))
    collab = rng.choice(words.collabs) if base.kind == "report" or rng.random() < 0.7 else ""
    authors = () if collab else base.authors[:2]
    return replace(
        base, place=place, collab=collab, authors=authors, accessed=accessed, publisher=collab,
        url=url if base.kind == "webpage" or int(base.year) > 1998 else "",
    )  # fmt: skip


def draw(kind: str, lang: str, domain: str, rng: random.Random) -> Work:
    """One work of `kind` in the cited language `lang`."""
    words = vocabulary.load(lang)
    title = vocabulary.title(words, domain, TEMPLATE.get(kind, "paper"), rng)
    most = 3 if domain == "culture" else 8
    year = str(rng.randint(2015, 2018) if kind == "webpage" else rng.randint(1958, 2018))
    base = Work(kind, lang, title, year, authors=people(words, rng, most))
    if kind == "journal":
        return _journal(base, words, domain, rng)
    if kind in ("chapter", "confproc"):
        return _part(base, words, domain, rng)
    return _whole(base, words, rng)


def works(lang: str, domain: str, count: int, seed: str, used: set[str]) -> list[Work]:
    """`count` works; `used` holds the titles of the whole corpus so far and is extended."""
    rng = random.Random(seed)
    found: list[Work] = []
    for kind in kinds(domain, count, rng):
        work = draw(kind, rng.choice(CITED[lang]), domain, rng)
        while work.title in used:
            work = draw(kind, rng.choice(CITED[lang]), domain, rng)
        used.add(work.title)
        found.append(work)
    return found


def sibling(works: list[Work], domain: str, seed: str, used: set[str]) -> Work:
    """Another article by the authors and in the year of a given one: "2004a" and "2004b"."""
    first = next(work for work in works if work.kind == "journal" and len(work.authors) > 1)
    rng = random.Random(f"sibling of {seed}")
    work = draw("journal", first.lang, domain, rng)
    while work.title in used or not work.fpage:
        work = draw("journal", first.lang, domain, rng)
    used.add(work.title)
    return replace(work, authors=first.authors, year=first.year, doi="")
