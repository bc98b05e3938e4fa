"""Every word is read once, at its first piece, with context where the reference is long."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from reno_dspy.systems.tagger.encoding import Pieces, encode
from reno_dspy.systems.tokens import tokenize


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Pieces:
    """A vocabulary of single characters and one word."""
    texts = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁Veldt", *map(chr, range(33, 127))]
    file = tmp_path_factory.mktemp("pieces") / "tokenizer.json"
    Tokenizer(models.Unigram([(text, -1.0) for text in texts], unk_id=3)).save(str(file))
    return Pieces(file)


def test_a_word_that_fits_the_vocabulary_is_one_piece(pieces: Pieces) -> None:
    encoded = encode("Veldt 12", pieces, 100)
    (window,) = encoded.windows
    assert window.ids[:2] == (0, 5)
    assert window.ids[-1] == 2
    assert window.places == (1, 2)


@settings(max_examples=60)
@given(st.text(max_size=200), st.integers(24, 60))
def test_every_word_is_read_once_and_no_window_is_too_long(
    pieces: Pieces, text: str, longest: int
) -> None:
    encoded = encode(text, pieces, longest)
    assert encoded.words == tuple(tokenize(text))
    read = [window.first + i for window in encoded.windows for i in range(len(window.places))]
    assert read == list(range(len(encoded.words)))
    for window in encoded.windows:
        assert len(window.ids) <= longest
        assert all(0 < place < len(window.ids) - 1 for place in window.places)


def test_long_references_are_read_in_context(pieces: Pieces) -> None:
    encoded = encode("ab " * 100, pieces, 40)
    assert len(encoded.windows) > 5
    for window in encoded.windows[1:-1]:
        before, after = window.places[0] - 1, len(window.ids) - 1 - window.places[-1]
        assert min(before, after) >= 6
