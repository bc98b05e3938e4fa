"""Generated field recall on a sample of dev: what the best checkpoint is chosen by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from transformers import PreTrainedModel

from finetune.models import stop_tokens
from finetune.serving.engine import Engine, Request
from programs.chat_format import render_messages
from programs.prompts import Prompt
from reno_dspy.base.show import percent
from reno_dspy.data.dataset import Row
from reno_dspy.jats.elements import SCORED
from reno_dspy.measure.metric import compare


@dataclass(frozen=True)
class DevSet:
    """Dev rows, how they are asked, and how long an answer may be."""

    rows: Sequence[Row]
    prompt: Prompt
    tokenizer: Any
    max_tokens: int
    thinking: bool | None = None


def measure(model: PreTrainedModel, dev: DevSet) -> dict[str, float | None]:
    """Greedy answers of `model` to every row of `dev`, scored in the paper's profile.

    Percentages: `recall` (lenient, over all seven fields together) and `recall/FIELD`, `valid_xml`,
    `fidelity`, and `ended`, the share of answers that the model ended by itself.
    """
    was_training = model.training
    prompts = [_tokens(row, dev) for row in dev.rows]
    context = max(map(len, prompts)) + dev.max_tokens + 1
    engine = Engine(model, stop_tokens(model, dev.tokenizer), min(16, len(prompts)), context)
    try:
        futures = [
            engine.submit(Request(prompt, _longest(row, dev)))
            for row, prompt in zip(dev.rows, prompts, strict=True)
        ]
        answers = [future.result() for future in futures]
    finally:
        engine.close()
        model.train(was_training)
    texts = [dev.tokenizer.decode(a.tokens, skip_special_tokens=True) for a in answers]
    ended = sum(answer.finish_reason == "stop" for answer in answers)
    return scored(dev.rows, texts) | {"ended": percent(ended, len(answers))}


def _longest(row: Row, dev: DevSet) -> int:
    """Tokens an answer may have: a good one tags its reference, so it is some times as long."""
    return min(dev.max_tokens, 96 + 5 * len(dev.tokenizer(row.plaintext)["input_ids"]))


def _tokens(row: Row, dev: DevSet) -> list[int]:
    extra = {} if dev.thinking is None else {"enable_thinking": dev.thinking}
    tokens: list[int] = dev.tokenizer.apply_chat_template(
        render_messages(dev.prompt, row.plaintext or ""),
        add_generation_prompt=True,
        return_dict=False,
        **extra,
    )
    return tokens


def scored(rows: Sequence[Row], texts: Sequence[str]) -> dict[str, float | None]:
    """The annotations `texts` of `rows`, scored in the paper's profile, in percent.

    `recall` (lenient, all fields together), `recall/FIELD`, `valid_xml`, `fidelity`.
    """
    scores = [
        compare(row.xml, text, plaintext=row.plaintext)
        for row, text in zip(rows, texts, strict=True)
    ]
    gold = {name: sum(score.fields[name].gold for score in scores) for name in SCORED}
    right = {name: sum(score.fields[name].lenient for score in scores) for name in SCORED}
    return {
        "recall": percent(sum(right.values()), sum(gold.values())),
        **{f"recall/{name}": percent(right[name], gold[name]) for name in SCORED},
        "valid_xml": percent(sum(score.well_formed for score in scores), len(scores)),
        "fidelity": percent(sum(bool(score.fidelity) for score in scores), len(scores)),
    }
