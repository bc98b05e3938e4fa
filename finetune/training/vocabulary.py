"""The part of a vocabulary that references need: most pieces of a multilingual one never occur."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from reno_dspy.systems.tagger.encoding import SPACE, Pieces
from reno_dspy.systems.tokens import tokenize

# <s>, <pad>, </s>, <unk> come first.
_SPECIAL = 4


def kept_pieces(tokenizer: Path, references: Iterable[str], size: int) -> list[int]:
    """The ids to keep: what `references` use, every single character, then the most common.

    A unigram tokenizer cuts a word whose piece is missing into smaller pieces, and in the end into
    characters, so that no word is lost. Ids are in the order of how common a piece is. `size` is
    the number of ids to keep, unless the first two kinds are more.
    """
    model = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]
    texts = [text for text, _ in model["vocab"]]
    kept = set(range(_SPECIAL))
    kept.update(i for i, text in enumerate(texts) if len(text.removeprefix(SPACE)) <= 1)
    pieces = Pieces(tokenizer)
    for reference in references:
        for ids in pieces.of(tokenize(reference)):
            kept.update(ids)
    for i in range(len(texts)):
        if len(kept) >= size:
            break
        kept.add(i)
    return sorted(kept)


def pruned(tokenizer: Path, kept: list[int]) -> Any:
    """The tokenizer over the pieces `kept`, whose ids become their places in that list."""
    content = json.loads(tokenizer.read_text(encoding="utf-8"))
    content["model"]["vocab"] = [content["model"]["vocab"][i] for i in kept]
    return Tokenizer.from_str(json.dumps(content))
