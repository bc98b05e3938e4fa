"""Quality checks of pairs (paper, section 2.3): one predicate a rule, every rule applied.

    reno filter PAIRS.jsonl --json

`RULES` is the table to read beside the paper. A predicate says whether the pair *fails* its rule; all
reasons are recorded, since the paper does not say which of several it counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rapidfuzz import fuzz

from reno_dspy.jats.citation import Element, MalformedXml, name_of, parse, read_values
from reno_dspy.jats.elements import DESCRIBING, TITLES, publication_type
from reno_dspy.jats.phrases import ETAL_NAME
from reno_dspy.jats.text import folded

MALFORMED = "malformed_xml"

MAX_PAGE = 10_000
EARLIEST_YEAR, LATEST_YEAR = 1000, 2100
# partial_ratio (0..100) of a folded value with the folded reference. 80 forgives about one wrong
# letter in five, what hyphenation and lost ligatures do to a title, while two unrelated titles of
# a field reach 40-60. A surname is short: 80 forgives one letter of five and none of four.
MATCHES_FROM = 80.0
_PAGE = re.compile(r"([A-Za-z]*)\s*(\d+)([A-Za-z]*)")
_URL = re.compile(r"https?://|\bwww\.|\bdoi\.org/|\bftp://", re.IGNORECASE)
_YEAR_IN_NAME = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_DOTTED_INITIALS = re.compile(r"(?:[^\W\d_]\.[\s-]*)+[^\W\d_]?\.?")  # "H. T.", "J.-P."
_BARE_INITIALS = re.compile(r"[A-ZÀ-ÖØ-ÞА-ЯЁ](?:[\s-]?[A-ZÀ-ÖØ-ÞА-ЯЁ])?")  # "HT", "H T"


@dataclass(frozen=True)
class Pair:
    """A reference and its annotation, parsed once for all rules."""

    plaintext: str
    root: Element

    @cached_property
    def values(self) -> Mapping[str, tuple[str, ...]]:
        """The non-empty values of every element that a rule reads."""
        read = read_values(self.root, DESCRIBING)
        return {name: tuple(value for value in values if value) for name, values in read.items()}

    @cached_property
    def folded(self) -> str:
        """The letters and digits of the plain text."""
        return folded(self.plaintext)

    @property
    def is_journal_article(self) -> bool:
        """Whether the annotation marks the work as an article of a journal."""
        return publication_type(self.root) == "journal"


def check(plaintext: str | None, xml: str) -> tuple[str, ...]:
    """The reasons to reject a pair, in the order of `RULES`; () to keep it. Never raises.

    Without a plain text, the annotation alone is checked.
    """
    try:
        root = parse(xml)
    except MalformedXml:
        return (MALFORMED,)
    pair = Pair(plaintext or "", root)
    rules = RULES if plaintext is not None else {**STRUCTURE, **FIELDS}
    return tuple(reason for reason, fails in rules.items() if fails(pair))


def tally(reasons: Iterable[Sequence[str]]) -> dict[str, dict[str, float | int]]:
    """Reason -> count, its share of the failed pairs and of all reasons given, most frequent first.

    Both shares, because the paper's "27.7% of errors" leaves open which of them it is.
    """
    counts: Counter[str] = Counter()
    failed = 0
    for given in reasons:
        failed += bool(given)
        counts.update(given)
    total = counts.total()
    return {
        reason: {
            "count": count,
            "share_of_failed": count / failed,
            "share_of_reasons": count / total,
        }
        for reason, count in counts.most_common()
    }


# Structural validation


def namespace_pollution(pair: Pair) -> bool:
    """An element name carries a prefix other than `mml` (declared attribute prefixes are fine)."""
    return any(e.prefix not in (None, "mml") for e in pair.root.iter("*"))


def too_few_elements(pair: Pair) -> bool:
    """At most two elements describe the work; empty ones and wrappers do not count."""
    filled = (e for e in pair.root.iter("*") if name_of(e) in DESCRIBING)
    return sum(bool("".join(e.itertext()).strip()) for e in filled) <= 2


# Field-level validation


def invalid_year(pair: Pair) -> bool:
    """A year with a letter ("2020a", the paper's example), one that cannot be, or none ("in press")."""
    return any(_is_wrong_year(year) for year in pair.values["year"])


def invalid_month(pair: Pair) -> bool:
    """A month number that is not 1 to 12; month names pass."""
    return any(m.isdecimal() and not 1 <= _int(m) <= 12 for m in pair.values["month"])


def reversed_pages(pair: Pair) -> bool:
    """Lpage < fpage, once a short form is expanded: `123-9` is 123-129."""
    return any(last < first for first, last in _page_ranges(pair))


def page_too_large(pair: Pair) -> bool:
    """A page beyond 10,000: a fragment of a DOI or an article number."""
    pages = (_number(page) for name in ("fpage", "lpage") for page in pair.values[name])
    return any(number > MAX_PAGE for prefix, number in filter(None, pages) if not prefix)


def identical_pages(pair: Pair) -> bool:
    """Fpage and lpage are the same."""
    return any(
        first.casefold() == last.casefold()
        for first, last in zip(pair.values["fpage"], pair.values["lpage"], strict=False)
    )


def missing_pages(pair: Pair) -> bool:
    """A journal article without fpage, page-range or elocation-id."""
    places = ("fpage", "elocation-id", "page-range")
    return pair.is_journal_article and not any(pair.values[name] for name in places)


def year_in_author(pair: Pair) -> bool:
    """A year in the name of a person (corporate names may hold one)."""
    names = pair.values["surname"] + pair.values["given-names"]
    return any(_YEAR_IN_NAME.search(name) for name in names)


def url_in_title(pair: Pair) -> bool:
    """An address in a title of an article or chapter."""
    return any(_URL.search(title) for name in TITLES for title in pair.values[name])


def initials_as_surname(pair: Pair) -> bool:
    """A surname of initials alone: "H. T.", "HT" (but not "LI, X." of a list in capitals)."""
    return any(_is_initials(*name) for name in _names(pair))


def etal_as_author(pair: Pair) -> bool:
    """A name that is "et al.", whole or split over surname and given names."""
    names = [*_names(pair), *((collab, "") for collab in pair.values["collab"])]
    return any(_is_etal(*name) for name in names)


# Content consistency


def surname_mismatch(pair: Pair) -> bool:
    """A surname is not in the plain text."""
    return _any_absent(pair, ("surname",))


def source_mismatch(pair: Pair) -> bool:
    """The source is not in the plain text."""
    return _any_absent(pair, ("source",))


def title_mismatch(pair: Pair) -> bool:
    """A title of an article or chapter is not in the plain text."""
    return _any_absent(pair, TITLES)


Rule = Callable[[Pair], bool]
# Beside these stands malformed_xml: nothing else can be said of what cannot be parsed.
STRUCTURE: dict[str, Rule] = {
    "namespace_pollution": namespace_pollution,
    "too_few_elements": too_few_elements,
}
FIELDS: dict[str, Rule] = {
    "invalid_year": invalid_year,
    "invalid_month": invalid_month,
    "reversed_pages": reversed_pages,
    "page_too_large": page_too_large,
    "identical_pages": identical_pages,
    "missing_pages": missing_pages,
    "year_in_author": year_in_author,
    "url_in_title": url_in_title,
    "initials_as_surname": initials_as_surname,
    "etal_as_author": etal_as_author,
}
CONTENT: dict[str, Rule] = {
    "surname_mismatch": surname_mismatch,
    "source_mismatch": source_mismatch,
    "title_mismatch": title_mismatch,
}
RULES: dict[str, Rule] = {**STRUCTURE, **FIELDS, **CONTENT}


def _is_wrong_year(year: str) -> bool:
    # "2019-2020", "1987/1989" and "[1987]" pass; "2020a", "May 2020", "s.d." and "in press" do not.
    numbers = re.findall(r"\d+", year)
    if not numbers or re.search(r"[^\W\d_]", year):
        return True
    return not EARLIEST_YEAR <= _int(numbers[0]) <= LATEST_YEAR


def _int(digits: str) -> int:
    """The number; one of very many digits, which Python would refuse to read, is just very large."""
    return int(digits) if len(digits) < 100 else 10**100


def _names(pair: Pair) -> list[tuple[str, str]]:
    """(surname, given names) of each person; "" for given names that cannot be split off."""
    surnames, given = pair.values["surname"], pair.values["given-names"]
    paired = given if len(given) == len(surnames) else ("",) * len(surnames)
    return list(zip(surnames, paired, strict=True))


def _is_etal(surname: str, given: str) -> bool:
    forms = (surname, given, f"{given} {surname}", f"{surname} {given}")
    if any(ETAL_NAME.fullmatch(form.strip(" .,;")) for form in forms):
        return True
    # "al" alone is no name, but Al with given names is one; U. A. may be anybody's initials.
    return not given and re.sub(r"\W", "", surname.casefold()) in ("al", "et", "ua")


def _is_initials(surname: str, given: str) -> bool:
    if _DOTTED_INITIALS.fullmatch(surname):
        return True
    swapped = not (_DOTTED_INITIALS.fullmatch(given) or _BARE_INITIALS.fullmatch(given))
    return _BARE_INITIALS.fullmatch(surname) is not None and swapped


def _page_ranges(pair: Pair) -> Iterable[tuple[int, int]]:
    for first, last in zip(pair.values["fpage"], pair.values["lpage"], strict=False):
        start, end = _number(first), _number(last)
        # Roman numbers, different prefixes (S360-A12) and article numbers (e0157-20) have no order.
        if start is None or end is None or start[0] == "e" or end[0] not in ("", start[0]):
            continue
        yield start[1], _expanded(start[1], end[1])


def _number(page: str) -> tuple[str, int] | None:
    match = _PAGE.fullmatch(page.strip(" .,;:()[]"))
    return (match[1].casefold(), _int(match[2])) if match else None


def _expanded(first: int, last: int) -> int:
    """The last page in full: 123, 9 -> 129; 1423, 31 -> 1431; 45, 12 stays 12 (reversed)."""
    a, b = str(first), str(last)
    return int(a[: len(a) - len(b)] + b) if len(b) < len(a) else last


def _any_absent(pair: Pair, names: Sequence[str]) -> bool:
    return any(not _present(value, pair.folded) for name in names for value in pair.values[name])


def _present(value: str, text: str) -> bool:
    wanted = folded(value)
    if not wanted or wanted in text:
        return True
    return fuzz.partial_ratio(wanted, text, score_cutoff=MATCHES_FROM) >= MATCHES_FROM
