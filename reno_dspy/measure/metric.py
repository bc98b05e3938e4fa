"""How an annotation is scored against gold: lenient and strict recall and precision by field.

    recall = matched / gold        precision = matched / predicted        (sums over citations)

Values match by edit distance within a threshold, one to one, as many as possible (paper section 3). A
malformed annotation keeps its lenient values in the strict precision's denominator: only so do the
published tables 1-4 agree with each other.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rapidfuzz.distance import Levenshtein

from reno_dspy.jats.citation import Reading, Values, read
from reno_dspy.jats.elements import SCORED
from reno_dspy.jats.people import Person, people
from reno_dspy.jats.text import collapse
from reno_dspy.measure.fields import THRESHOLDS, names_of, values_of
from reno_dspy.measure.pages import with_whole_pages


@dataclass(frozen=True)
class Profile:
    """Rules of comparison, named in every report.

    `normalize` compares forms without case, punctuation, compatibility characters and line-end hyphens,
    writes shortened last pages out, counts chapter titles as titles and drops empty elements;
    `relative_cap` bounds a threshold by this share of the gold value's length.
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
    `exact`: the predicted values are exactly the gold's. `punctuation` counts pairs of values that
    differ, but not without the punctuation at their ends.
    """

    gold: int
    pred: int
    lenient: int
    strict: int
    missed: tuple[str, ...]
    wrong: tuple[str, ...]
    exact: bool
    punctuation: int

    @property
    def restricted(self) -> int:
        """Predicted values where the gold has the field at all."""
        return self.pred if self.gold else 0


@dataclass(frozen=True)
class CitationScore:
    """One prediction against its gold.

    `fidelity`: the annotation's text equals the reference (white space collapsed); None where the
    reference is not known. `all_authors`: every surname and given name right and none invented; None
    where the gold has no surname. `people_right`: the same people in the same roles, each with the
    surname and given names in one element; None where the gold does not say who has which name.
    `whole_right`: exactly the gold's values in every scored field. The last two need well-formed XML.
    """

    fields: Mapping[str, FieldScore]
    well_formed: bool
    fidelity: bool | None
    all_authors: bool | None
    people_right: bool | None
    whole_right: bool
    fenced: bool
    thought: bool
    gold_malformed: bool


def compare(
    gold_xml: str,
    prediction: str,
    profile: Profile = PAPER,
    plaintext: str | None = None,
    fields: tuple[str, ...] = SCORED,
) -> CitationScore:
    """Score one raw completion against one gold annotation. Never raises on any `prediction`.

    `fields` holds the scored fields and whatever else is to be compared (`fields.FIELD_SETS`).
    """
    gold, predicted = (read(xml, _names(fields, profile)) for xml in (gold_xml, prediction))
    golds, preds = _values(gold, fields, profile), _values(predicted, fields, profile)
    scores = {
        name: _score(name, golds[name], preds[name], predicted.well_formed, profile)
        for name in golds
    }
    exact = all(scores[name].exact for name in SCORED)
    return CitationScore(
        fields=scores,
        well_formed=predicted.well_formed,
        fidelity=None if plaintext is None else predicted.text == collapse(plaintext),
        all_authors=_all_authors(scores),
        people_right=_people_right(gold, predicted, profile),
        whole_right=predicted.well_formed and exact,
        fenced=predicted.fenced,
        thought=predicted.thought,
        gold_malformed=not gold.well_formed,
    )


def normalized(value: str) -> str:
    """The form that the `normalized` profile compares: NFKC, casefold, no punctuation, hyphens joined."""
    joined = re.sub(r"[-\u00ad\u2010]\s+", "", without_edges(value))
    text = unicodedata.normalize("NFKC", joined).casefold()
    return collapse("".join(c for c in text if not unicodedata.category(c).startswith("P")))


def without_edges(value: str) -> str:
    """`value` without punctuation and quotation marks at its ends: `A.` and `A` are the same."""
    start, end = 0, len(value)
    while start < end and _is_edge(value[start]):
        start += 1
    while end > start and _is_edge(value[end - 1]):
        end -= 1
    return value[start:end]


def _is_edge(character: str) -> bool:
    # Sk holds the accents that stand in for quotation marks (`A´), Z the spaces.
    return unicodedata.category(character)[0] in "PZ" or unicodedata.category(character) == "Sk"


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


def _names(fields: tuple[str, ...], profile: Profile) -> tuple[str, ...]:
    names = names_of(fields)
    return (
        (*names, "chapter-title") if profile.normalize and "chapter-title" not in names else names
    )


def _values(reading: Reading, fields: tuple[str, ...], profile: Profile) -> Values:
    """The values as they stand; in `normalized`, chapter titles are article titles."""
    values = dict(values_of(reading, fields))
    if not profile.normalize:
        return values
    values.pop("chapter-title", None)
    values["article-title"] += reading.lenient["chapter-title"]
    return with_whole_pages(values)


def _score(
    name: str,
    gold_values: Sequence[str],
    pred_values: Sequence[str],
    well_formed: bool,
    profile: Profile,
) -> FieldScore:
    golds = [form for value in gold_values if (form := _form(value, profile))]
    preds = [_form(value, profile) for value in pred_values]
    if profile.normalize:
        preds = list(filter(None, preds))
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
        exact=sorted(golds) == sorted(preds),
        punctuation=_punctuation(gold_values, pred_values),
    )


def _form(value: str, profile: Profile) -> str:
    return normalized(value) if profile.normalize else value


def _punctuation(golds: Sequence[str], preds: Sequence[str]) -> int:
    """Pairs of values that become equal without the punctuation at their ends."""
    if golds == preds:
        return 0
    missed, wrong = Counter(golds), Counter(preds)
    equal = missed & wrong
    edges = [Counter(map(without_edges, (rest - equal).elements())) for rest in (missed, wrong)]
    del edges[0][""]
    return (edges[0] & edges[1]).total()


def _all_authors(fields: Mapping[str, FieldScore]) -> bool | None:
    if not fields["surname"].gold:
        return None
    names = (fields["surname"], fields["given-names"])
    return all(field.gold == field.lenient == field.pred for field in names)


def _people_right(gold: Reading, predicted: Reading, profile: Profile) -> bool | None:
    known = None if gold.root is None else people(gold.root)
    named = [one for one in known or () if one.surnames or one.given_names]
    if not named:
        return None
    found = None if predicted.root is None else people(predicted.root)
    if found is None:
        return False
    return Counter(_in_form(one, profile) for one in named) == Counter(
        _in_form(one, profile) for one in found
    )


def _in_form(person: Person, profile: Profile) -> Person:
    names = (person.surnames, person.given_names)
    return Person(person.role, *(tuple(_form(v, profile) for v in values) for values in names))
