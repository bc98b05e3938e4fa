"""Imperfect gold on purpose, so that the quality filters of section 2.3 have something to reject.

Each flaw is named by the reason code that it should earn. It changes the tags (and where the rule is
about the text itself, the print as well), never only one half of a tagged `mixed-citation`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .work import Token

Tokens = list[Token]
WRONG_SURNAME, WRONG_SOURCE = "Xylofant", "Quarterly of Other Matters"
WRONG_TITLE = "An entirely different heading kept from a template"
PAGES = ("fpage", "lpage", "elocation-id")


def _find(tokens: Tokens, *names: str) -> int:
    """Where the first field of one of these names stands; -1 when there is none."""
    return next((at for at, token in enumerate(tokens) if token.field in names), -1)


def _set(tokens: Tokens, name: str, **changes: Any) -> Tokens | None:
    at = _find(tokens, name)
    if at < 0:
        return None
    return [*tokens[:at], replace(tokens[at], **changes), *tokens[at + 1 :]]


def invalid_year(tokens: Tokens) -> Tokens | None:
    """<year>2014a</year>, where the print has 2014a."""
    at = _find(tokens, "year")
    rest = tokens[at + 1].text if at + 1 < len(tokens) else ""
    if at < 0 or rest[:1] not in ("a", "b"):
        return None
    year = replace(tokens[at], text=tokens[at].text + rest[0])
    return [*tokens[:at], year, Token(rest[1:]), *tokens[at + 2 :]]


def reversed_pages(tokens: Tokens) -> Tokens | None:
    """First and last page swapped in print and tags: 139-123."""
    first, last = _find(tokens, "fpage"), _find(tokens, "lpage")
    if last < 0 or len(tokens[first].text) != len(tokens[last].text):
        return None
    swapped = _set(tokens, "fpage", text=tokens[last].text) or tokens
    return _set(swapped, "lpage", text=tokens[first].text)


def identical_pages(tokens: Tokens) -> Tokens | None:
    """45-45."""
    fpage = _find(tokens, "fpage")
    return _set(tokens, "lpage", text=tokens[fpage].text) if fpage >= 0 else None


def missing_pages(tokens: Tokens) -> Tokens | None:
    """A journal article whose pages are printed but not tagged."""
    if _find(tokens, "article-title") < 0 or _find(tokens, "volume") < 0:
        return None
    return [replace(token, field="") if token.field in PAGES else token for token in tokens]


def etal_as_author(tokens: Tokens) -> Tokens | None:
    """<surname>et al</surname>."""
    return _set(tokens, "etal", field="surname")


def initials_as_surname(tokens: Tokens) -> Tokens | None:
    """The first author's surname and initials tagged the wrong way round."""
    at, given = _find(tokens, "surname"), _find(tokens, "given-names")
    if at < 0 or len(tokens[given].text) > 5:
        return None
    swapped = list(tokens)
    swapped[at] = replace(tokens[at], field="given-names")
    swapped[given] = replace(tokens[given], field="surname")
    return swapped


def year_in_author(tokens: Tokens) -> Tokens | None:
    """<given-names>A. B. (2014</given-names>: the tag closes too late."""
    given, year = _find(tokens, "given-names"), _find(tokens, "year")
    if given < 0 or year < given or any(token.field for token in tokens[given + 1 : year]):
        return None
    text = "".join(token.text for token in tokens[given : year + 1])
    return [*tokens[:given], replace(tokens[given], text=text), *tokens[year + 1 :]]


def url_in_title(tokens: Tokens) -> Tokens | None:
    """A supplement's address, printed behind the title and tagged with it."""
    at = _find(tokens, "article-title", "chapter-title")
    if at < 0:
        return None
    text = f"{tokens[at].text} (https://supplement.example/{len(tokens)})"
    return _set(tokens, tokens[at].field, text=text)


def too_few_elements(tokens: Tokens) -> Tokens | None:
    """Only the year is tagged."""
    return [
        token if token.field == "year" else replace(token, field="", person="") for token in tokens
    ]


def surname_mismatch(tokens: Tokens) -> Tokens | None:
    """A surname that the print does not have."""
    return _set(tokens, "surname", gold=WRONG_SURNAME)


def title_mismatch(tokens: Tokens) -> Tokens | None:
    """A title that the print does not have."""
    return _set(tokens, "article-title", gold=WRONG_TITLE)


def source_mismatch(tokens: Tokens) -> Tokens | None:
    """A source that the print does not have."""
    if _find(tokens, "article-title") < 0:
        return None
    return _set(tokens, "source", gold=WRONG_SOURCE)


FLAWS: dict[str, Callable[[Tokens], Tokens | None]] = {
    rule.__name__: rule
    for rule in (
        invalid_year, reversed_pages, identical_pages, missing_pages, etal_as_author,
        initials_as_surname, year_in_author, url_in_title, too_few_elements, surname_mismatch,
        title_mismatch, source_mismatch,
    )
}  # fmt: skip
