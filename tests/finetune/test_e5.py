"""The multilingual encoder, decoded from its package."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoModel

from finetune.base import resolve_base
from finetune.e5 import check_file, decode, e5_file
from reno_dspy.base.errors import InputError


@pytest.fixture(scope="module")
def folder() -> Path:
    return resolve_base("multilingual-e5-small").path


def test_a_sentence_and_its_translation_are_alike(folder: Path) -> None:
    model = AutoModel.from_pretrained(folder, add_pooling_layer=False).eval()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

    def embedded(sentence: str) -> torch.Tensor:
        words = (tokenizer.encode(f"▁{word}").ids for word in sentence.split())
        ids = torch.tensor([[0, *(i for word in words for i in word), 2]])
        with torch.inference_mode():
            mean = model(ids).last_hidden_state.mean(1)[0]
        return torch.nn.functional.normalize(mean, dim=0)

    english = embedded("query: how much protein per day")
    german = embedded("query: wie viel Eiweiß pro Tag")
    other = embedded("query: the train to London leaves at nine")
    assert english @ german > 0.9 > 0.8 > english @ other


def test_words_are_cut_as_sentencepiece_does(folder: Path) -> None:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert tokenizer.encode("▁bibliography").tokens == ["▁bibli", "ography"]
    # Full-width letters are folded as NFKC does, invisible characters stand for a space.
    assert tokenizer.encode("▁ＡＢ").tokens == tokenizer.encode("▁AB").tokens
    assert "<unk>" not in tokenizer.encode("a\u200fb").tokens


def test_another_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="another version"):
        check_file(e5_file(), "0" * 64)
    with pytest.raises(InputError, match="E5S1"):
        decode(b"GGUF....")
