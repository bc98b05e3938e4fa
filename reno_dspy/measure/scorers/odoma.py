"""The parsing score of Odoma's SSH citation index benchmark (Zhu et al. 2026; `ref_metrics.py`).

Every field of a reference is compared in lower case by rapidfuzz's `ratio`, and the similarity itself
counts (their mode `soft_fuzzy`): 0.9 of a title is 0.9 of a match. Lists of people of equal length are
compared in order, others by their best assignment; a person is as similar as its parts are on average.
Precision and recall divide the sum of similarities by the predicted and by the gold values; macro F1 is
the mean over references. *Focused* figures, which they publish, are those of title, authors and date.
For EXCITE they publish means over documents; so does the last table, over citing articles.

What differs from a published run: each answer is compared to its own gold (they assign answers of a
document to references by best F1), and JATS has no `full_title`: it is the title of the article or
chapter, else the source, which is the journal title otherwise. Their gold for EXCITE reads "Unknown
Title" where there is none, and their reader drops the authors of LinkedBooks; ours does neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from rapidfuzz.fuzz import ratio
from scipy.optimize import linear_sum_assignment

from reno_dspy.jats.citation import Element, name_of, read, read_values, text_of
from reno_dspy.measure.records import Record
from reno_dspy.measure.scorers.figures import Counted, Figures, Rows, row, total

FOCUSED = ("full_title", "authors", "publication_date")
_PEOPLE = {"authors": "author", "editors": "editor", "translator": "translator"}
FIELDS = (
    "full_title",
    "journal_title",
    *_PEOPLE,
    "publisher",
    "publication_date",
    "publication_place",
    "volume",
    "issue",
    "pages",
)
_PLAIN = {
    "publisher": "publisher-name",
    "publication_date": "year",
    "publication_place": "publisher-loc",
    "volume": "volume",
    "issue": "issue",
}
_TITLES = ("article-title", "chapter-title", "data-title", "part-title")
_READ = (*_TITLES, "source", *_PLAIN.values(), "fpage", "lpage", "page-range", "elocation-id")


@dataclass(frozen=True)
class _Person:
    given: str | None
    surname: str | None


# Somebody may also be known as a whole: a body, or a name that was not split.
Someone: TypeAlias = _Person | str
Value: TypeAlias = str | list[Someone]
Citation: TypeAlias = Mapping[str, Value]


def score(records: Sequence[Record]) -> Figures:
    """Tables by field, pooled over all references, and as means over articles."""
    compared = [
        _compare(_citation(record["xml"]), _citation(record.get("prediction") or ""))
        for record in records
    ]
    by_field = {
        field: row(total(one[field] for one in compared if field in one)) for field in FIELDS
    }
    articles: dict[str | int, list[Mapping[str, Counted]]] = {}
    for number, (record, one) in enumerate(zip(records, compared, strict=True)):
        articles.setdefault(record.get("citing_article") or number, []).append(one)
    return Figures(
        "odoma",
        len(records),
        "The SSH citation index benchmark, mode soft_fuzzy.",
        [
            Rows("by field", by_field),
            Rows("pooled over references", _summary(lambda fields: _pooled(compared, fields))),
            Rows("mean over articles", _summary(lambda fields: _mean(articles.values(), fields))),
        ],
    )


Line: TypeAlias = tuple[float | None, float | None, float | None, int | None]


def _summary(line: Callable[[Sequence[str]], tuple[Line, float | None]]) -> dict[str, Line]:
    rows: dict[str, Line] = {}
    for name, fields in (("focused", FOCUSED), ("all fields", FIELDS)):
        micro, macro = line(fields)
        rows |= {f"{name} (micro)": micro, f"{name} (macro F1)": (None, None, macro, None)}
    return rows


def _pooled(
    compared: Sequence[Mapping[str, Counted]], fields: Sequence[str]
) -> tuple[Line, float | None]:
    sums = [_sum(one, fields) for one in compared]
    return row(total(sums)), _average(one.f1 or 0.0 for one in sums)


def _mean(
    articles: Iterable[Sequence[Mapping[str, Counted]]], fields: Sequence[str]
) -> tuple[Line, float | None]:
    lines = [_pooled(article, fields) for article in articles]
    columns = [_average(line[i] or 0.0 for line, _ in lines) for i in range(3)]
    return (columns[0], columns[1], columns[2], None), _average(macro or 0.0 for _, macro in lines)


def _average(values: Iterable[float]) -> float | None:
    known = list(values)
    return round(sum(known) / len(known), 4) if known else None


def _sum(one: Mapping[str, Counted], fields: Sequence[str]) -> Counted:
    return total(one[field] for field in fields if field in one)


def _compare(gold: Citation, answer: Citation) -> dict[str, Counted]:
    """Counts of every field that either has."""
    return {
        field: _count(gold.get(field), answer.get(field))
        for field in FIELDS
        if field in gold or field in answer
    }


def _count(gold: Value | None, answer: Value | None) -> Counted:
    golds, answers = _as_list(gold), _as_list(answer)
    return Counted(_matched(golds, answers), len(answers), len(golds))


def _as_list(value: Value | None) -> list[Someone]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _matched(golds: Sequence[Someone], answers: Sequence[Someone]) -> float:
    if not golds or not answers:
        return 0.0
    if len(golds) == len(answers):
        return sum(map(_similarity, answers, golds))
    similarities = np.array([[_similarity(one, gold) for gold in golds] for one in answers])
    return float(similarities[linear_sum_assignment(-similarities)].sum())


def _similarity(a: Someone, b: Someone) -> float:
    if isinstance(a, _Person) and isinstance(b, _Person):
        parts = [(a.given, b.given), (a.surname, b.surname)]
        known = [pair for pair in parts if any(pair)]
        return sum(_ratio(*pair) for pair in known) / len(known)
    return max(_ratio(one, other) for one in _spellings(a) for other in _spellings(b))


def _ratio(a: str | None, b: str | None) -> float:
    return ratio(a.strip().lower(), b.strip().lower()) / 100 if a and b else 0.0


def _spellings(someone: Someone) -> list[str]:
    """A person may be written with the surname last or first."""
    if isinstance(someone, str):
        return [someone]
    if someone.given and someone.surname:
        return [f"{someone.given} {someone.surname}", f"{someone.surname}, {someone.given}"]
    return [someone.given or someone.surname or ""]


def _citation(xml: str) -> Citation:
    root = read(xml).root
    if root is None:
        return {}
    found = read_values(root, _READ)
    first = {name: next(filter(None, values)) for name, values in found.items() if any(values)}
    titles = [first[name] for name in _TITLES if name in first]
    fields: dict[str, Value | None] = {field: first.get(name) for field, name in _PLAIN.items()}
    fields["full_title"] = titles[0] if titles else first.get("source")
    fields["journal_title"] = first.get("source") if titles else None
    fields["pages"] = _pages(first)
    fields |= {field: _people(root, role) for field, role in _PEOPLE.items()}
    return {field: value for field, value in fields.items() if value}


def _pages(first: Mapping[str, str]) -> str | None:
    ends = [first[name] for name in ("fpage", "lpage") if name in first]
    return "-".join(ends) or first.get("page-range") or first.get("elocation-id")


def _people(root: Element, role: str) -> list[Someone]:
    people: list[Someone] = []
    for element in root.iter("{*}name", "{*}string-name", "{*}collab", "{*}person-group"):
        whole = name_of(element) == "person-group"
        if _role(element) != role or (whole and len(element)):
            continue
        # Groups whose names were not split are lists of names.
        names = text_of(element).strip(", ").split(" - ") if whole else [_person(element)]
        people += [one for one in names if one]
    return people


def _role(element: Element) -> str:
    groups = (e for e in (element, *element.iterancestors()) if name_of(e) == "person-group")
    group = next(groups, None)
    return "author" if group is None else group.get("person-group-type") or "author"


def _person(element: Element) -> Someone | None:
    values = read_values(element, ("given-names", "surname"))
    given, surname = (" ".join(filter(None, values[name])) for name in ("given-names", "surname"))
    if given or surname:
        return _Person(given or None, surname or None)
    return text_of(element) or None
