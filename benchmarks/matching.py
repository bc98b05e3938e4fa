"""Matching with rapidfuzz against a plain Python loop over an edit-distance library.

    python benchmarks/matching.py ../shared/data/refs/scielo.jsonl.gz [--articles 20]

Articles of 60 references, texts with a few wrong letters. The loop calls Levenshtein's distance for
every pair of an article, one at a time, as a first version would; both give the same matches.
"""

from __future__ import annotations

import argparse
import random
import time

from rapidfuzz.distance import Levenshtein

from reno_dspy.build.match import THRESHOLD, match
from reno_dspy.data.dataset import load


def plain_loop(extracted: list[str], annotated: list[str]) -> list[tuple[int, int]]:
    scored = []
    for i, p in enumerate(extracted):
        for j, c in enumerate(annotated):
            s = 1 - Levenshtein.distance(p, c) / max(len(p), len(c))
            if s >= THRESHOLD:
                scored.append((-s, i, j))
    pairs: list[tuple[int, int]] = []
    for _, i, j in sorted(scored):
        if all(i != a and j != b for a, b in pairs):
            pairs.append((i, j))
    return pairs


def textbook_distance(p: str, c: str) -> int:
    row = list(range(len(c) + 1))
    for i, a in enumerate(p, start=1):
        above, row = row, [i]
        for j, b in enumerate(c, start=1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
    return row[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs")
    parser.add_argument("--articles", type=int, default=20)
    arguments = parser.parse_args()
    rng = random.Random(0)
    texts = [" ".join((row.plaintext or "").split()) for row in load(arguments.pairs).rows]
    articles = []
    for _ in range(arguments.articles):
        annotated = rng.sample(texts, 60)
        noisy = ["".join(ch if rng.random() > 0.03 else "x" for ch in text) for text in annotated]
        rng.shuffle(noisy)
        articles.append((noisy, annotated))
    began = time.process_time()
    ours = [match(ps, [[c] for c in cs]) for ps, cs in articles]
    fast = time.process_time() - began
    began = time.process_time()
    theirs = [plain_loop(ps, cs) for ps, cs in articles]
    slow = time.process_time() - began
    same = all(
        {(m.extracted, m.annotated) for m in mine} == set(other)
        for mine, other in zip(ours, theirs, strict=True)
    )
    began = time.process_time()
    for p in articles[0][0][:5]:
        for c in articles[0][1][:5]:
            textbook_distance(p, c)
    pure = (time.process_time() - began) / 25 * 3600 * len(articles)
    comparisons = 3600 * len(articles)
    print(f"{comparisons:,} comparisons, same matches: {same}")
    print(f"ours {fast:.3f} s; loop over the library {slow:.3f} s = {slow / fast:.1f} times")
    print(f"loop over a distance in Python (from 25 pairs) {pure:.0f} s = {pure / fast:.0f} times")


if __name__ == "__main__":
    main()
