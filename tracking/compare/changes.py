"""References whose answer went from right to wrong or back, and a page to click through them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from reno_dspy.jats.citation import Reading, read
from reno_dspy.jats.elements import PAPER_COLUMNS, SCORED
from reno_dspy.jats.people import people
from reno_dspy.measure.measures import COMPARED
from reno_dspy.measure.metric import CitationScore
from tracking.compare.paired import Comparison, Pair

NAME = "changes"
# What can be right: the compared shares of references, then each scored field.
TITLES = {
    **{share.name: share.title for share in reversed(COMPARED)},
    **{field: PAPER_COLUMNS.get(field, field) for field in SCORED},
}
# A browser shows a page of some ten megabytes without trouble; a change takes about two kilobytes.
_MOST = 8000


@dataclass(frozen=True)
class Change:
    """One reference on which a run differs from the baseline: what it gained, and what it lost."""

    pair: Pair
    gained: tuple[str, ...]
    lost: tuple[str, ...]


def changes(comparison: Comparison) -> list[Change]:
    """The references whose answer changed between right and wrong, in the order of the data."""
    found = []
    for pair in comparison.pairs:
        before, after = _right(pair.first_score), _right(pair.other_score)
        gained = tuple(name for name in TITLES if before[name] is False and after[name])
        lost = tuple(name for name in TITLES if before[name] and after[name] is False)
        if gained or lost:
            found.append(Change(pair, gained, lost))
    return found


def _right(score: CitationScore) -> dict[str, bool | None]:
    """By what can be right; None where the gold has nothing to be right about.

    A field is right when all its values match (leniently) and none is invented.
    """
    fields = {
        name: score.fields[name].gold == score.fields[name].lenient == score.fields[name].pred
        for name in SCORED
    }
    return {share.name: getattr(score, share.flag) for share in COMPARED} | fields


def changes_page(comparisons: Sequence[Comparison], changed: Sequence[Sequence[Change]]) -> str:
    """The page, self-contained: `changed` has the changes of each run; of very many the first."""
    share = max(_MOST // max(len(comparisons), 1), 50)
    kept = [(run, change) for run, found in enumerate(changed) for change in found[:share]]
    # The baseline's record of a reference is one object, however many runs differ from it.
    pairs = {id(change.pair.first): change.pair for _, change in kept}
    places = {key: place for place, key in enumerate(pairs)}
    data = {
        "baseline": comparisons[0].baseline,
        "runs": [
            {"label": one.label, "n": one.n, "changed": len(found)}
            for one, found in zip(comparisons, changed, strict=True)
        ],
        "titles": TITLES,
        "references": [_reference(pair) for pair in pairs.values()],
        "changes": [_shown(change, run, places[id(change.pair.first)]) for run, change in kept],
    }
    template = files("tracking.compare").joinpath(f"{NAME}.html").read_text(encoding="utf-8")
    # Inside a script element only "<" could end it.
    return template.replace("__CHANGES__", json.dumps(data).replace("<", "\\u003c"))


def _reference(pair: Pair) -> dict[str, Any]:
    record = pair.first
    return {
        "text": record.get("plaintext") or "",
        "id": record.get("id") or "",
        "gold": _answer(record["xml"]),
        "baseline": _answer(record.get("prediction") or ""),
    }


def _shown(change: Change, run: int, reference: int) -> dict[str, Any]:
    return {
        "run": run,
        "reference": reference,
        "answer": _answer(change.pair.other.get("prediction") or ""),
        "gained": change.gained,
        "lost": change.lost,
    }


def _answer(xml: str) -> dict[str, Any]:
    reading = read(xml)
    values: Mapping[str, Sequence[str]] = reading.lenient
    persons = None if reading.root is None else people(reading.root)
    return {
        "xml": xml,
        "values": {name: list(found) for name, found in values.items() if found},
        "people": list(_persons(persons or ())),
        "problem": _problem(xml, reading),
    }


def _problem(xml: str, reading: Reading) -> str | None:
    if not xml:
        return "no answer"
    return None if reading.problem is None else f"not well-formed: {reading.problem}"


def _persons(found: Sequence[Any]) -> Iterator[str]:
    for one in found:
        names = ", ".join(" ".join(part) for part in (one.surnames, one.given_names) if part)
        yield f"{one.role}: {names}"
