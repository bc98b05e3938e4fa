"""Base models in memory, with an adapter merged into them or not."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel
from transformers.utils import logging

from finetune.base import Base
from finetune.manifest import Adapter
from reno_dspy.base.errors import InputError


@contextmanager
def old_names_allowed() -> Iterator[None]:
    """PEFT and TRL still use names that transformers has given up: no warnings of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def load_model(base: Base, adapter: Adapter | None = None) -> PreTrainedModel:
    """The base in float32, `adapter` merged into its weights. Raises InputError."""
    from peft import PeftModel

    logging.disable_progress_bar()
    try:
        model = AutoModelForCausalLM.from_pretrained(base.path, dtype=torch.float32)
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{base.path} cannot be loaded as a language model: {error}") from error
    if adapter:
        with old_names_allowed():
            merged: Any = PeftModel.from_pretrained(model, str(adapter.path)).merge_and_unload()
        model = merged
    loaded: PreTrainedModel = model.eval()
    return loaded


def load_tokenizer(base: Base) -> Any:
    """The base's tokenizer. Raises InputError when it has no chat template or end token."""
    tokenizer = AutoTokenizer.from_pretrained(base.path)
    if not tokenizer.chat_template or tokenizer.eos_token_id is None:
        raise InputError(
            f"{base.name} has no chat template or no end token: choose an instruction-tuned model."
        )
    return tokenizer


def stop_tokens(model: PreTrainedModel, tokenizer: Any) -> set[int]:
    """The token ids that end an answer."""
    config = model.generation_config
    configured = config.eos_token_id if config is not None else None
    ids = configured if isinstance(configured, list) else [configured]
    return {tokenizer.eos_token_id, *(i for i in ids if i is not None)}


def save_merged(base: Base, adapter: Adapter, out: Path) -> None:
    """Write base + adapter as one model directory to `out`, which must be new or empty.

    Weights keep float32. Raises InputError when `out` holds something.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} is not an empty directory; name a new one for --merge.")
    load_model(base, adapter).save_pretrained(out)
    load_tokenizer(base).save_pretrained(out)
