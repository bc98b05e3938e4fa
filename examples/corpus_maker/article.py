"""A citing article: its source file (articles/NAME.md), its drawn references, its citations.

The source file is YAML front matter between `---` lines, then `## Heading` sections of paragraphs.
`{c}` in a paragraph becomes a citation of the next few references; the section `## [references]`
stands where the list is printed, and what follows it is printed behind the list.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from . import generator
from .flaws import FLAWS
from .styles import NOTES, NUMBERED, STYLES, ordered, short
from .terms import TERMS, Terms
from .work import Person, Token, Work

SUPER, END = "\ue000", "\ue001"  # around a superscript, in paragraphs


@dataclass(frozen=True)
class Reference:
    """A printed and tagged work; `flaw` is the reason code that its gold should earn, or ""."""

    work: Work
    tokens: tuple[Token, ...]
    flaw: str = ""


@dataclass(frozen=True)
class Section:
    """A heading and its paragraphs."""

    title: str
    paragraphs: list[str]


@dataclass(frozen=True)
class Article:
    """One article, ready to be printed; `manner` is the platform whose JATS it follows."""

    name: str
    manner: str
    lang: str
    style: str
    columns: int
    kind: str
    title: str
    authors: list[Person]
    affiliation: str
    journal: str
    running: str
    publisher: str
    doi: str
    year: int
    volume: int
    issue: int
    first_page: int
    dates: str
    keywords: str
    element_only: bool
    heading: str
    abstract: list[str]
    body: list[Section]
    notes: list[str]
    after: list[Section]
    references: list[Reference]

    @property
    def numbered(self) -> bool:
        """Whether the list is in the order of citation, with numbers."""
        return self.style in NUMBERED

    @property
    def terms(self) -> Terms:
        """The small words of the article's language."""
        return TERMS[self.lang]


def _sections(text: str) -> list[Section]:
    found = []
    for block in text.split("\n## ")[1:]:
        title, _, rest = block.partition("\n")
        paragraphs = [" ".join(p.split()) for p in rest.split("\n\n") if p.strip()]
        found.append(Section(title.strip(), paragraphs))
    return found


def _references(head: dict[str, Any], name: str, used: set[str]) -> list[Reference]:
    """The drawn works in list order, each rendered, with the wished flaws put in."""
    lang, style = head["lang"], head["style"]
    drawn = generator.works(lang, head["domain"], head["refs"], name, used)
    if style == "apa":
        drawn.append(generator.sibling(drawn, head["domain"], name, used))
    works = ordered(drawn, style)
    references = [Reference(w, tuple(STYLES[style](w, TERMS[lang]))) for w in works]
    for flaw in head.get("flaws", []):
        _flawed(references, flaw)
    return references


def _flawed(references: list[Reference], flaw: str) -> None:
    """Put `flaw` into the first reference from the middle on that can have it."""
    half = len(references) // 2
    for at in [*range(half, len(references)), *range(half)]:
        reference = references[at]
        tokens = None if reference.flaw else FLAWS[flaw](list(reference.tokens))
        if tokens is not None:
            references[at] = Reference(reference.work, tuple(tokens), flaw)
            return
    raise ValueError(f"no reference can carry the flaw {flaw}")


def _groups(count: int, places: int) -> Iterator[list[int]]:
    for at in range(places):
        yield list(range(at * count // places, (at + 1) * count // places))


def _numbers(group: list[int]) -> str:
    if len(group) > 2:
        return f"{group[0] + 1}-{group[-1] + 1}"
    return ",".join(str(number + 1) for number in group)


def _note(group: list[Work], terms: Terms, rng: random.Random) -> str:
    parts = [
        f"{work.first_author}, {work.title.split(':')[0].split('?')[0].strip()}, "
        f"{'p. ' if terms.lang == 'fr' else ''}{rng.randint(3, 240)}"
        for work in group
    ]
    return "; ".join(parts) + "."


def _cite(
    sections: list[Section], works: list[Work], head: dict[str, Any], rng: random.Random
) -> tuple[list[Section], list[str]]:
    """Fill every `{c}`; returns the sections and, in the note styles, the notes."""
    terms, style = TERMS[head["lang"]], head["style"]
    places = sum(text.count("{c}") for section in sections for text in section.paragraphs)
    order = list(range(len(works)))
    if style not in NUMBERED:
        rng.shuffle(order)
    groups = _groups(len(works), places)
    notes: list[str] = []

    def citation() -> str:
        group = sorted(order[at] for at in next(groups))
        if style in NOTES:
            notes.append(_note([works[at] for at in group[:2]], terms, rng))
            return f"{SUPER}{len(notes)}{END}"
        if style in NUMBERED:
            text = _numbers(group)
            return f" [{text}]" if head.get("brackets") else f"{SUPER}{text}{END}"
        return f" ({'; '.join(short(works[at], style, terms) for at in group)})"

    filled = []
    for section in sections:
        paragraphs = []
        for text in section.paragraphs:
            parts = text.split("{c}")
            paragraphs.append(parts[0] + "".join(citation() + part for part in parts[1:]))
        filled.append(Section(section.title, paragraphs))
    return filled, notes


def _people(names: list[str]) -> list[Person]:
    return [Person(surname, given) for given, surname in (name.split("|") for name in names)]


def read(path: Path, used: set[str]) -> Article:
    """Compose the article of a source file; `used` holds the titles cited so far."""
    _, front, text = path.read_text(encoding="utf-8").split("---\n", 2)
    head = yaml.safe_load(front)
    sections = _sections("\n" + text)
    at = next(i for i, section in enumerate(sections) if section.title == "[references]")
    references = _references(head, path.stem, used)
    works = [reference.work for reference in references]
    body, notes = _cite(sections[1:at], works, head, random.Random(path.stem))
    return Article(
        name=path.stem,
        manner=path.stem.split("-")[0],
        lang=head["lang"],
        style=head["style"],
        columns=head["columns"],
        kind=head.get("kind", "research-article"),
        title=head["title"],
        authors=_people(head["authors"]),
        affiliation=head["affiliation"],
        journal=head["journal"],
        running=head["running"],
        publisher=head["publisher"],
        doi=head.get("doi", ""),
        year=head["year"],
        volume=head["volume"],
        issue=head["issue"],
        first_page=head["first_page"],
        dates=head.get("dates", ""),
        keywords=head["keywords"],
        element_only=head.get("element_only", False),
        heading=head.get("heading", TERMS[head["lang"]].heading),
        abstract=sections[0].paragraphs,
        body=body,
        notes=notes,
        after=sections[at + 1 :],
        references=references,
    )
