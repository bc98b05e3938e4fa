"""Matching of extracted references to an article's JATS references (paper, section 2.2).

s(p, c) = 1 - d(p, c) / max(|p|, |c|) with Levenshtein's distance d on text-only citations; pairs are
taken in order of decreasing similarity, one to one, down to s = 0.75.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from reno_dspy.jats.text import collapse

THRESHOLD = 0.75
# Rows of the similarity matrix computed at once: bounds memory for reports with thousands of refs.
_BLOCK = 256


@dataclass(frozen=True)
class Match:
    """Reference `extracted` (index) is JATS reference `annotated` (index), at `similarity`.

    `form` is the index, among the texts of the JATS reference, of the one that was nearest.
    """

    extracted: int
    annotated: int
    similarity: float
    form: int


def similarity(p: str, c: str) -> float:
    """s(p, c) of the paper, in 0..1; 1 for two empty strings."""
    return float(Levenshtein.normalized_similarity(p, c))


def match(
    extracted: Sequence[str], annotated: Sequence[Sequence[str]], threshold: float = THRESHOLD
) -> list[Match]:
    """Greedy one-to-one matching, in order of decreasing similarity.

    `annotated` holds one or more texts a JATS reference (its stripped text, rendered forms); the
    nearest counts. White space is collapsed first. Ties go to the earlier reference.
    """
    best: dict[tuple[int, int], tuple[float, int]] = {}
    for i, j, score, form in _close_pairs(extracted, annotated, threshold):
        if score > best.get((i, j), (0.0, 0))[0]:
            best[i, j] = (score, form)
    matches: list[Match] = []
    used_i: set[int] = set()
    used_j: set[int] = set()
    for (i, j), (score, form) in sorted(best.items(), key=lambda item: (-item[1][0], item[0])):
        if i not in used_i and j not in used_j:
            used_i.add(i)
            used_j.add(j)
            matches.append(Match(i, j, score, form))
    return matches


def _close_pairs(
    extracted: Sequence[str], annotated: Sequence[Sequence[str]], threshold: float
) -> Iterator[tuple[int, int, float, int]]:
    """All (extracted, annotated, s, form) with s >= threshold.

    rapidfuzz gives up on a pair as soon as lengths or the band of the cut-off rule it out.
    """
    ps = [collapse(text) for text in extracted]
    forms = [
        (j, k, collapse(text)) for j, texts in enumerate(annotated) for k, text in enumerate(texts)
    ]
    forms = [form for form in forms if form[2]]
    texts = [text for _, _, text in forms]
    if not texts:
        return
    for start in range(0, len(ps), _BLOCK):
        scores = cdist(
            ps[start : start + _BLOCK],
            texts,
            scorer=Levenshtein.normalized_similarity,
            score_cutoff=threshold,
            dtype=np.float64,
        )
        for row, column in np.argwhere(scores >= threshold):
            j, k, _ = forms[column]
            yield start + int(row), j, float(scores[row, column]), k
