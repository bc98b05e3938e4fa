"""Batched generation says what each request alone would."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from finetune.base import TINY, resolve_base
from finetune.cpu import HalfLinear, halve_linears
from finetune.models import load_model
from finetune.serving import engine as engine_module
from finetune.serving.engine import Engine, Request


@pytest.fixture(scope="module")
def model() -> nn.Module:
    return load_model(resolve_base(TINY))


@pytest.fixture
def engine(model: nn.Module) -> Iterator[Engine]:
    engine = Engine(model, {2}, slots=3, context=128)
    yield engine
    engine.close()


def prompts() -> list[list[int]]:
    shared = list(range(100, 140))
    return [[*shared[: 10 + 7 * i], 200 + i] for i in range(5)] + [[7], shared]


def alone(model: nn.Module, prompt: list[int], count: int) -> list[int]:
    with torch.inference_mode():
        ids = torch.tensor([prompt])
        whole = model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=count, do_sample=False
        )
    return [token for token in whole[0, len(prompt) :].tolist() if token != 2]


def test_a_batch_equals_each_request_alone(model: nn.Module, engine: Engine) -> None:
    counts = [5, 12, 3, 20, 9, 15, 8]
    futures = [
        engine.submit(Request(prompt, count))
        for prompt, count in zip(prompts(), counts, strict=True)
    ]
    for future, prompt, count in zip(futures, prompts(), counts, strict=True):
        answer = future.result()
        assert answer.tokens == alone(model, prompt, count)
        assert answer.finish_reason == ("length" if len(answer.tokens) == count else "stop")


def test_the_end_token_ends_the_answer(model: nn.Module) -> None:
    prompt = prompts()[0]
    tokens = alone(model, prompt, 20)
    last = next(token for token in tokens if token != tokens[0])
    engine = Engine(model, {last}, slots=1, context=64)
    answer = engine.submit(Request(prompt, 30)).result()
    engine.close()
    assert (answer.tokens, answer.finish_reason) == (tokens[: tokens.index(last)], "stop")


def test_sampling_is_repeatable_by_its_seed(engine: Engine) -> None:
    def sample(seed: int) -> list[int]:
        request = Request(prompts()[1], 12, temperature=1.0, top_p=0.9, seed=seed)
        return engine.submit(request).result().tokens

    assert sample(1) == sample(1)
    assert sample(1) != sample(2)


def test_a_cancelled_request_frees_its_slot(engine: Engine) -> None:
    given_up = [engine.submit(Request(prompts()[0], 100)) for _ in range(6)]
    cancelled = [future.cancel() for future in given_up]
    assert any(cancelled)
    assert engine.submit(Request([5, 6], 3)).result().tokens


def test_a_request_that_breaks_fails_alone_and_the_engine_goes_on(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward, choose = Engine._forward, engine_module.choose

    def broken_prompt(self: Engine, tokens: torch.Tensor, *rest: torch.Tensor) -> torch.Tensor:
        if 666 in tokens:
            raise RuntimeError("no such piece")
        return forward(self, tokens, *rest)

    def broken_choice(
        logits: torch.Tensor, temperature: float, top_p: float, random: torch.Generator | None
    ) -> int:
        if random is not None and random.initial_seed() == 13:
            raise RuntimeError("probabilities are no numbers")
        return choose(logits, temperature, top_p, random)

    monkeypatch.setattr(Engine, "_forward", broken_prompt)
    monkeypatch.setattr(engine_module, "choose", broken_choice)
    good = engine.submit(Request(prompts()[0], 30))
    # The last one's client leaves while its prompt fails.
    bad = [
        engine.submit(Request([5, 666, 6], 3)),
        engine.submit(Request([5, 6], 3, temperature=1.0, seed=13)),
        engine.submit(Request([5, 666], 3)),
    ]
    bad[2].cancel()
    for future, reason in zip(bad, ("no such piece", "no numbers"), strict=False):
        with pytest.raises(RuntimeError, match=reason):
            future.result(60)
    assert good.result(60).tokens
    assert engine.submit(Request([5, 6], 3)).result(60).tokens
    assert engine.is_alive


@pytest.mark.parametrize("temperature", [1e-40, 1e-6, 1e-4])
def test_the_coldest_temperatures_are_greedy(engine: Engine, temperature: float) -> None:
    greedy = engine.submit(Request(prompts()[1], 8)).result(60).tokens
    cold = Request(prompts()[1], 8, temperature=temperature, seed=1)
    assert engine.submit(cold).result(60).tokens == greedy


def test_closing_fails_what_waits(model: nn.Module) -> None:
    engine = Engine(model, {2}, slots=1, context=1024)
    futures = [engine.submit(Request([5, 6], 1000)) for _ in range(3)]
    engine.close()
    for future in futures:
        with pytest.raises(RuntimeError, match="stopping"):
            future.result(60)
    assert not engine.is_alive
    with pytest.raises(RuntimeError, match="stopping"):
        engine.submit(Request([5, 6], 3))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_engine_whose_loop_breaks_leaves_nobody_waiting(
    model: nn.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Engine, slot: int, logits: torch.Tensor) -> None:
        raise MemoryError

    monkeypatch.setattr(Engine, "_take", broken)
    engine = Engine(model, {2}, slots=1, context=64)
    with pytest.raises(RuntimeError, match="stopping"):
        engine.submit(Request([5, 6], 3)).result(60)
    with pytest.raises(RuntimeError, match="stopping"):
        engine.submit(Request([5, 6], 3))
    assert not engine.is_alive
    engine.close()


def test_what_does_not_fit_is_refused(engine: Engine) -> None:
    with pytest.raises(ValueError, match="context"):
        engine.submit(Request([1] * 100, 29))


def test_only_frozen_layers_are_halved() -> None:
    layers = nn.ModuleDict({"a": nn.Linear(4, 3), "b": nn.Linear(4, 3), "head": nn.Linear(4, 3)})
    layers["a"].requires_grad_(False)
    layers["head"].requires_grad_(False)
    x = torch.randn(2, 4)
    before = layers["a"](x)
    halve_linears(layers, keep=frozenset({"head"}))
    assert [type(layer) for layer in layers.values()] == [HalfLinear, nn.Linear, nn.Linear]
    torch.testing.assert_close(layers["a"](x), before, rtol=0.02, atol=0.02)
