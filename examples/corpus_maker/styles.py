"""The citation styles by name, and how each one cites in the text and orders its list."""

import unicodedata
from collections.abc import Callable
from dataclasses import replace

from .styles_author import abnt, apa
from .styles_humanities import chicago, deutsch, francais
from .styles_numbered import ore, vancouver
from .terms import Terms
from .work import Token, Work

Style = Callable[[Work, Terms], list[Token]]
STYLES: dict[str, Style] = {
    "vancouver": vancouver,
    "ore": ore,
    "apa": apa,
    "abnt": abnt,
    "chicago": chicago,
    "francais": francais,
    "deutsch": deutsch,
}
NUMBERED = ("vancouver", "ore")
NOTES = ("chicago", "francais")


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return plain.casefold()


def ordered(works: list[Work], style: str) -> list[Work]:
    """The works in list order: as cited when numbered, else by name and year, with year letters."""
    if style in NUMBERED:
        return works
    works = sorted(works, key=lambda w: (_folded(w.first_author), w.year, _folded(w.title)))
    if style != "apa":
        return works
    names = [(work.authors, work.collab, work.year) for work in works]
    return [
        replace(work, letter=chr(ord("a") + names[:at].count(names[at])))
        if names.count(names[at]) > 1
        else work
        for at, work in enumerate(works)
    ]


def short(work: Work, style: str, terms: Terms) -> str:
    """The citation inside the brackets of an author-year text."""
    surnames = [author.surname for author in work.authors] or [work.collab]
    if style == "abnt":
        names = (
            "; ".join(surnames).upper() if len(surnames) < 4 else f"{surnames[0].upper()} et al."
        )
        return f"{names}, {work.year}"
    if style == "deutsch":
        return f"{'/'.join(surnames[:2])} {work.year}"
    if len(surnames) > 2:
        return f"{surnames[0]} et al., {work.year}{work.letter}"
    return f"{f' {terms.amp} '.join(surnames)}, {work.year}{work.letter}"
