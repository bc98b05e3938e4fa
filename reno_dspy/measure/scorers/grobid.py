"""GROBID's end-to-end evaluation of citations (`grobid-trainer`, EndToEndEvaluation.java, version 0.9).

A reference has one value a field: all its surnames together are `authors`, titles and identifiers are
joined by spaces. Values are compared in lower case; *strict*: equal; *soft*: equal without punctuation
and spaces; *Levenshtein*: edit distance at most a fifth of the longer value; *Ratcliff/Obershelp*:
similarity of at least 0.95. The last three go for textual fields; numbers must be equal. A wrong value is
a false positive only, so recall is over the values that the gold expects.

Each answer is compared to its own gold. An *instance* is right if every field is. The last table aligns
as GROBID has to, which does not know what belongs together: within an article, an answer goes to the gold
reference with which it shares the first of four signatures (title and year; authors and year; source,
volume and page; first author and title); without one, all its values are false positives. Books have no
title there, and names that are not split no authors, so that they seldom have a signature.

What differs from a published run: GROBID reads PDFs and TEI, here both sides are JATS read by the paths
for the gold; we read the whole text of an element, GROBID's paths some elements' own text only (a
`source` in italics is empty there); editors' surnames count on both sides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import TypeAlias

from rapidfuzz.distance import Levenshtein

from reno_dspy.jats.citation import Element, name_of, read, text_of
from reno_dspy.measure.records import Record
from reno_dspy.measure.scorers.figures import Counted, Figures, Rows, row, total

# Whether gold and answer match; whether the field is textual.
_Same: TypeAlias = Callable[[str, str, bool], bool]
_MICRO = "all (micro avg.)"
_IDS = ("doi", "pmid", "pmcid")
_NUMBERS = ("date", "volume", "issue", "page")
FIELDS = ("title", "authors", "first_author", "inTitle", *_NUMBERS, *_IDS)
_PATHS = {
    "title": "article-title",
    "inTitle": "source",
    "date": "year",
    "volume": "volume",
    "issue": "issue",
    "page": "fpage",
}
# TextUtilities.fullPunctuations and what removeFullPunct adds.
_IGNORED = str.maketrans(
    "",
    "",
    "(（[ •*,:;?.!/)）-−–‐«»„\"“”‘’'`$#@]*♦♥♣♠ 。、，・‐ \t\n\r\u00a0"
    "\u00b7\u25fc\u25b2\u25ba\u25c6\u25cb\u25c7\u25cf\u25ce\u25fd\u25f8\u25f9\u25fa",
)


def score(records: Sequence[Record]) -> Figures:
    """The four tables of fields, the instances, and averages when aligned by signatures."""
    n = len(records)
    own = [(_citation(one["xml"]), _citation(one.get("prediction") or "")) for one in records]
    aligned = list(_aligned(records))
    counted = {name: _counts(own, same) for name, same in MATCHINGS.items()}
    tables = [Rows(name, _rows(fields)) for name, (fields, _) in counted.items()]
    instances = {name: row(Counted(right, n, n)) for name, (_, right) in counted.items()}
    by_signature = {}
    for name, same in MATCHINGS.items():
        fields, right = _counts(aligned, same)
        by_signature[f"{name}, all (micro avg.)"] = _rows(fields)[_MICRO]
        by_signature[f"{name}, instances"] = row(Counted(right, n, n))
    return Figures(
        "grobid",
        n,
        "GROBID's end-to-end evaluation: one value a field and reference.",
        [
            *tables,
            Rows("instances (whole references)", instances),
            Rows("aligned by signatures", by_signature),
        ],
    )


def _counts(pairs: Iterable[_Pair], same: _Same) -> tuple[dict[str, Counted], int]:
    """By field what matched, and how many references matched as a whole."""
    counts = {field: Counted() for field in FIELDS}
    instances = 0
    for gold, answer in pairs:
        found = {field: _count(field, gold, answer, same) for field in FIELDS}
        for field, one in found.items():
            counts[field] += one
        instances += bool(gold and answer and _all_right(found))
    return counts, instances


def _rows(
    found: Mapping[str, Counted],
) -> dict[str, tuple[float | None, float | None, float | None, int | None]]:
    """Fields in the order of their names, as GROBID prints them; averages over those that occur."""
    known = {field: one for field, one in sorted(found.items()) if one.gold}
    rows = {field: row(one) for field, one in known.items()}
    columns = [[line[i] or 0.0 for line in rows.values()] for i in range(3)]
    macro = [sum(column) / len(column) if column else None for column in columns]
    rows[_MICRO] = row(total(known.values()))
    rows["all (macro avg.)"] = (macro[0], macro[1], macro[2], None)
    return rows


@dataclass(frozen=True)
class _Citation:
    """One reference as the evaluation sees it: one text a field, "" where there is none.

    `first` has the first year, volume and page, which signatures are made of.
    """

    values: Mapping[str, str]
    first: Mapping[str, str]

    @cached_property
    def signatures(self) -> tuple[str | None, ...]:
        soft = {name: _soft(value) for name, value in self.values.items()}
        date, volume, page = (self.first[name] for name in ("date", "volume", "page"))
        first, title, source = (soft[name] for name in ("first_author", "title", "inTitle"))
        return (
            title + date if title and date else None,
            soft["authors"] + date if soft["authors"] and date else None,
            source + volume + page if source and volume and page else None,
            first + (title or source) if first and (title or source) else None,
        )


_Pair: TypeAlias = tuple[_Citation | None, _Citation | None]


def _aligned(records: Sequence[Record]) -> Iterator[_Pair]:
    """Pairs of gold and answer; a gold that nothing is aligned to, or an answer alone."""
    articles: dict[str | int, list[Record]] = {}
    for number, record in enumerate(records):
        articles.setdefault(record.get("citing_article") or number, []).append(record)
    for article in articles.values():
        yield from _of_article(article)


def _of_article(records: Sequence[Record]) -> Iterator[_Pair]:
    golds = [_citation(record["xml"]) for record in records]
    for answer in (_citation(record.get("prediction") or "") for record in records):
        # An answer without any signature is not looked at.
        if any(answer.signatures):
            place = _place(answer, golds)
            yield (None if place is None else golds.pop(place)), answer
    yield from ((gold, None) for gold in golds)


def _place(answer: _Citation, golds: Sequence[_Citation]) -> int | None:
    for level, signature in enumerate(answer.signatures):
        known = [gold.signatures[level] for gold in golds]
        if signature is not None and signature in known:
            return known.index(signature)
    return None


def _count(field: str, gold: _Citation | None, answer: _Citation | None, same: _Same) -> Counted:
    expected = gold.values[field] if gold else ""
    found = answer.values[field] if answer else ""
    textual = field not in _NUMBERS
    right = bool(expected) and bool(found) and same(expected, found, textual)
    # Only the strict matching takes an aligned value of nothing but punctuation for one.
    blank = gold is not None and textual and same is not _strictly and not _soft(found)
    return Counted(right, bool(found) and not blank, bool(expected))


def _all_right(found: Mapping[str, Counted]) -> bool:
    return all(one.matched or not (one.predicted or one.gold) for one in found.values())


def _citation(xml: str) -> _Citation:
    root = read(xml).root
    if root is None:
        nothing = dict.fromkeys(FIELDS, "")
        return _Citation(nothing, nothing)
    surnames = [e for e in root.iter("{*}surname") if _is_person(e.getparent())]
    found = {field: list(root.iter(f"{{*}}{name}")) for field, name in _PATHS.items()}
    values = {field: _joined(elements) for field, elements in found.items()}
    first = {field: _joined(elements[:1]) for field, elements in found.items()}
    values["authors"] = _joined(surnames)
    values["first_author"] = _joined(filter(_is_first, surnames))
    ids: dict[str, list[Element]] = {kind: [] for kind in _IDS}
    for element in root.iter("{*}pub-id"):
        ids.get(element.get("pub-id-type") or "", []).append(element)
    values |= {kind: _identifier(_joined(elements)) for kind, elements in ids.items()}
    return _Citation(values, first)


def _is_person(element: Element | None) -> bool:
    return element is not None and name_of(element) in ("name", "string-name")


def _is_first(surname: Element) -> bool:
    """XPath's `name[1]`: the first person of its kind among its siblings (of each group)."""
    person = surname.getparent()
    assert person is not None
    before = person.itersiblings(preceding=True)
    return not any(name_of(one) == name_of(person) for one in before if isinstance(one.tag, str))


def _joined(elements: Iterable[Element]) -> str:
    return " ".join(" ".join(text_of(e) for e in elements).split()).lower()


def _identifier(text: str) -> str:
    """Identifiers without the names of their registries."""
    for name in ("doi", "pmid"):
        if text.startswith(name):
            text = text.replace(name, "").strip().removeprefix(":").strip()
    return re.sub("pmc", "", text).strip()


def _soft(value: str) -> str:
    return value.lower().translate(_IGNORED)


def _strictly(gold: str, found: str, textual: bool) -> bool:
    return gold == found


def _softly(gold: str, found: str, textual: bool) -> bool:
    return _soft(gold) == _soft(found) != "" if textual else gold == found


def _by_distance(gold: str, found: str, textual: bool) -> bool:
    longer = max(len(gold), len(found))
    near = (longer - Levenshtein.distance(gold, found)) / longer >= 0.8
    return near and _soft(gold) != "" if textual else gold == found


def _by_similarity(gold: str, found: str, textual: bool) -> bool:
    if not textual or gold == found:
        return gold == found
    return SequenceMatcher(None, gold, found, autojunk=False).ratio() >= 0.95 and _soft(gold) != ""


MATCHINGS: Mapping[str, _Same] = {
    "strict": _strictly,
    "soft": _softly,
    "Levenshtein (0.8)": _by_distance,
    "Ratcliff/Obershelp (0.95)": _by_similarity,
}
