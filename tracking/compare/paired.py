"""Is a difference between two runs more than noise? Paired, on the references that both answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reno_dspy.jats.elements import SCORED
from reno_dspy.measure.measures import COMPARED
from reno_dspy.measure.metric import CitationScore
from reno_dspy.measure.records import Record, by_question
from reno_dspy.measure.report import Counts, count_arrays, score_records, share_arrays
from reno_dspy.measure.result import OVERALL
from reno_dspy.measure.stats import Paired, paired_differences
from tracking.compare.results import Result


@dataclass(frozen=True)
class Pair:
    """One reference as both runs answered it: the stored answers and their scores."""

    first: Record
    other: Record
    first_score: CitationScore
    other_score: CitationScore


@dataclass(frozen=True)
class Comparison:
    """A run against the first one, run minus first, in 0..1.

    `differences` holds lenient recall of each scored field and `overall`, then the compared shares of
    references (`people_right`, `whole_right`). `pairs` are the references that both answered.
    """

    label: str
    baseline: str
    articles: int
    differences: Mapping[str, Paired | None]
    pairs: Sequence[Pair]

    @property
    def n(self) -> int:
        """How many references both answered."""
        return len(self.pairs)


def compare_with_first(results: Sequence[Result]) -> list[Comparison]:
    """Every run that kept its predictions against the first one that did, in pairs.

    Rows are paired by reference and gold; runs without a row in common, or measured with another
    profile, are left out.
    """
    known = [result for result in results if result.predictions is not None]
    if len(known) < 2:
        return []
    first, *others = known
    base = by_question(first.predictions or ())
    profile = first.report.profile
    scores = dict(zip(base, score_records(list(base.values()), profile), strict=True))
    compared = []
    for other in others:
        answers = by_question(other.predictions or ())
        common = [key for key in base if key in answers]
        if not common or other.report.profile != profile:
            continue
        found = score_records([answers[key] for key in common], profile)
        pairs = [
            Pair(base[key], answers[key], scores[key], score)
            for key, score in zip(common, found, strict=True)
        ]
        compared.append(_compare(other.label, first.label, pairs))
    return compared


def _compare(label: str, baseline: str, pairs: Sequence[Pair]) -> Comparison:
    clusters = [pair.first.get("citing_article") for pair in pairs]
    articles = len({name for name in clusters if name is not None}) + clusters.count(None)
    a, b = _ratios([p.other_score for p in pairs]), _ratios([p.first_score for p in pairs])
    found = paired_differences(a[0], a[1], b[0], b[1], clusters)
    names = (*SCORED, OVERALL, *(share.name for share in COMPARED))
    return Comparison(label, baseline, articles, dict(zip(names, found, strict=True)), pairs)


def _ratios(scores: Sequence[CitationScore]) -> tuple[Counts, Counts]:
    """Numerators and denominators, a column for each difference."""
    counts, shares = count_arrays(scores), share_arrays(COMPARED, scores)
    return (
        np.concatenate([counts["lenient"], shares[0]], axis=1),
        np.concatenate([counts["gold"], shares[1]], axis=1),
    )
