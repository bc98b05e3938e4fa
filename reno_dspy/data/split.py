"""Split by citing article into train, dev and test, with no reference on two sides.

A work cited alike in two articles would leak. Joining such articles into one group would, in a large
corpus, tie most of it together through a few works that everybody cites; so of references with the
same letters and digits only the first is kept (`first_of_each`), before the sample is drawn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from reno_dspy.base.files import digest
from reno_dspy.jats.text import folded


def first_of_each(texts: Iterable[str]) -> list[bool]:
    """For each text, whether it is the first with its letters and digits."""
    seen: set[bytes] = set()
    firsts = []
    for text in texts:
        key = hashlib.blake2b(folded(text).encode(), digest_size=16).digest()
        firsts.append(key not in seen)
        seen.add(key)
    return firsts


def split_articles(
    articles: Sequence[str], shares: Mapping[str, float], seed: int
) -> dict[str, str]:
    """Article -> split, so that the rows of each split are near its share.

    `articles` names each row's citing article. Articles come in an order given by the seed and their
    name; each goes to the split that lacks most of its share, so that even eight articles fill all.
    """
    sizes: dict[str, int] = {}
    for article in articles:
        sizes[article] = sizes.get(article, 0) + 1
    wanted = {name: share * len(articles) for name, share in shares.items() if share > 0}
    filled = dict.fromkeys(wanted, 0)
    assigned: dict[str, str] = {}
    for article in sorted(sizes, key=lambda name: _order(name, seed)):
        split = max(wanted, key=lambda name: (wanted[name] - filled[name]) / wanted[name])
        assigned[article] = split
        filled[split] += sizes[article]
    return assigned


def side_of(key: str, dev: float, test: float) -> str:
    """`test`, `dev` or `train`, by the hash of `key` and the shares of the first two.

    The same on every machine and with any seed. A larger share for `test` takes none out of it.
    """
    place = int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest()) / 2**64
    if place < test:
        return "test"
    return "dev" if place < test + dev else "train"


def _order(article: str, seed: int) -> str:
    return digest(f"{seed}:{article}", 64)
