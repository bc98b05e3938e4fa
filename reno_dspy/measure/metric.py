"""How an annotation is scored against gold: lenient and strict recall and precision by field.

    recall = matched / gold        precision = matched / predicted        (sums over citations)

Values match by edit distance within a threshold, one to one, as many as possible (paper section 3; DESIGN
section 6). A malformed annotation keeps its lenient values in the strict precision's denominator: only so
do the published tables 1-4 agree with each other.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rapidfuzz.distance import Levenshtein

from reno_dspy.jats.citation import FIELDS, Reading, Values, read
from reno_dspy.jats.text import collapse

# Largest edit distance at which two values are the same (paper, notes to table 1).
THRESHOLDS: Mapping[str, int] = {"source": 5, "article-title": 10}


@dataclass(frozen=True)
class Profile:
    """Rules of comparison, named in every report.

    `normalize` compares forms without case, punctuation, compatibility characters and line-end hyphens,
    counts chapter titles as titles and drops empty elements; `relative_cap` bounds a threshold by this
    share of the gold value's length.
    """

    name: Literal["paper", "normalized"]
    normalize: bool
    relative_cap: float | None


PAPER = Profile("paper", normalize=False, relative_cap=None)
NORMALIZED = Profile("normalized", normalize=True, relative_cap=0.2)
PROFILES: Mapping[str, Profile] = {profile.name: profile for profile in (PAPER, NORMALIZED)}


@dataclass(frozen=True)
class FieldScore:
    """One field of one citation: how many values, how many matched, and which did not.

    `missed` are gold values without a match, `wrong` predicted values without one (lenient reading).
    """

    gold: int
    pred: int
    lenient: int
    strict: int
    missed: tuple[str, ...]
    wrong: tuple[str, ...]


@dataclass(frozen=True)
class CitationScore:
    """One prediction against its gold.

    `fidelity`: the annotation's text equals the reference (white space collapsed); None where the
    reference is not known. `all_authors`: every surname and given name right and none invented; None
    where the gold has no surname.
    """

    fields: Mapping[str, FieldScore]
    well_formed: bool
    fidelity: bool | None
    all_authors: bool | None
    fenced: bool
    thought: bool
    gold_malformed: bool


def compare(
    gold_xml: str, prediction: str, profile: Profile = PAPER, plaintext: str | None = None
) -> CitationScore:
    """Score one raw completion against one gold annotation. Never raises on any `prediction`."""
    gold = read(gold_xml, _names(profile))
    predicted = read(prediction, _names(profile))
    gold_values, values = _values(gold, profile), _values(predicted, profile)
    fields = {
        name: _score(name, gold_values[name], values[name], predicted.well_formed, profile)
        for name in FIELDS
    }
    return CitationScore(
        fields=fields,
        well_formed=predicted.well_formed,
        fidelity=None if plaintext is None else predicted.text == collapse(plaintext),
        all_authors=_all_authors(fields),
        fenced=predicted.fenced,
        thought=predicted.thought,
        gold_malformed=not gold.well_formed,
    )


def normalized(value: str) -> str:
    """The form that the `normalized` profile compares: NFKC, casefold, no punctuation, hyphens joined."""
    text = unicodedata.normalize("NFKC", re.sub(r"[-\u00ad\u2010]\s+", "", value)).casefold()
    return collapse("".join(c for c in text if not unicodedata.category(c).startswith("P")))


def best_matching(
    golds: Sequence[str], preds: Sequence[str], thresholds: Sequence[int]
) -> list[tuple[int, int]]:
    """A maximum one-to-one matching (i, j) of golds and preds within each gold's threshold.

    Augmenting paths (Kuhn 1955): the number of pairs does not depend on the order of values.
    """
    if len(golds) == len(preds) and all(golds) and list(golds) == list(preds):
        return [(i, i) for i in range(len(golds))]
    near = [
        [j for j, pred in enumerate(preds) if _within(gold, pred, limit)]
        for gold, limit in zip(golds, thresholds, strict=True)
    ]
    owner: dict[int, int] = {}
    for i in range(len(golds)):
        _augment(i, near, owner)
    return sorted((i, j) for j, i in owner.items())


def _augment(start: int, near: Sequence[Sequence[int]], owner: dict[int, int]) -> None:
    """Give gold `start` a pred, moving the golds before it where that makes room (depth first)."""
    reached_from: dict[int, int] = {}
    stack = [start]
    while stack:
        i = stack.pop()
        for j in near[i]:
            if j in reached_from:
                continue
            reached_from[j] = i
            if j in owner:
                stack.append(owner[j])
                continue
            _flip(j, start, reached_from, owner)
            return


def _flip(j: int, start: int, reached_from: Mapping[int, int], owner: dict[int, int]) -> None:
    """Reassign along the path that ends at the free pred `j`."""
    held = {i: pred for pred, i in owner.items()}
    while True:
        i = reached_from[j]
        owner[j] = i
        if i == start:
            return
        j = held[i]


def _within(gold: str, pred: str, limit: int) -> bool:
    if limit == 0 or not gold or not pred:
        return gold == pred != ""
    return Levenshtein.distance(gold, pred, score_cutoff=limit) <= limit


def _names(profile: Profile) -> tuple[str, ...]:
    return (*FIELDS, "chapter-title") if profile.normalize else FIELDS


def _values(reading: Reading, profile: Profile) -> Values:
    if not profile.normalize:
        return reading.lenient
    values = {
        name: tuple(form for value in found if (form := normalized(value)))
        for name, found in reading.lenient.items()
    }
    values["article-title"] += values.pop("chapter-title")
    return values


def _score(
    name: str,
    golds: Sequence[str],
    preds: Sequence[str],
    well_formed: bool,
    profile: Profile,
) -> FieldScore:
    golds = [gold for gold in golds if gold]
    limit = THRESHOLDS.get(name, 0)
    share = profile.relative_cap
    limits = [limit if share is None else min(limit, int(share * len(gold))) for gold in golds]
    pairs = best_matching(golds, preds, limits)
    matched_golds, matched_preds = {i for i, _ in pairs}, {j for _, j in pairs}
    return FieldScore(
        gold=len(golds),
        pred=len(preds),
        lenient=len(pairs),
        strict=len(pairs) if well_formed else 0,
        missed=tuple(gold for i, gold in enumerate(golds) if i not in matched_golds),
        wrong=tuple(pred for j, pred in enumerate(preds) if j not in matched_preds),
    )


def _all_authors(fields: Mapping[str, FieldScore]) -> bool | None:
    if not fields["surname"].gold:
        return None
    names = (fields["surname"], fields["given-names"])
    return all(field.gold == field.lenient == field.pred for field in names)
