"""The tagger's network: the first layers of a base model with LoRA, and a head over labels."""

from __future__ import annotations

from typing import Any

import torch
from peft import PeftModel
from torch import Tensor
from transformers import AutoConfig, AutoModelForTokenClassification
from transformers.utils import logging

from finetune.base import Base
from finetune.cpu import halve_linears, has_bfloat16
from finetune.manifest import Adapter
from finetune.models import old_names_allowed
from finetune.recipe import TaggerOptions
from finetune.tagger.encoding import attention
from reno_dspy.base.errors import InputError

HEAD = "score"


def trained_model(base: Base, adapter: Adapter, options: TaggerOptions) -> Any:
    """The base with `adapter` merged into it, ready to answer: bfloat16 products where those are fast."""
    model = classifier(base, options, len(adapter.manifest.labels))
    with old_names_allowed():
        merged: Any = PeftModel.from_pretrained(model, str(adapter.path)).merge_and_unload()
    for parameter in merged.parameters():
        parameter.requires_grad_(False)
    if torch.cuda.is_available():
        return merged.to("cuda", torch.bfloat16).eval()
    if has_bfloat16():
        halve_linears(merged, keep=frozenset({HEAD}))
    return merged.eval()


def score(model: Any, ids: Tensor, present: Tensor, read: Tensor, options: TaggerOptions) -> Tensor:
    """Logits (positions that `read` marks, labels) of `model`, bare or wrapped by PEFT.

    `ids`, `present` (a token, no padding) and `read` are (rows, length).
    """
    bare = model.get_base_model() if isinstance(model, PeftModel) else model
    hidden = bare.model(
        input_ids=ids, attention_mask=attention(present, options.context), use_cache=False
    ).last_hidden_state
    logits: Tensor = bare.score(hidden[read])
    return logits


def classifier(base: Base, options: TaggerOptions, labels: int) -> Any:
    """The first layers of `base` with a fresh head over `labels`, in float32. Raises InputError."""
    verbosity = logging.get_verbosity()
    logging.disable_progress_bar()
    # It would warn that the language model's head and last layers are not used, which is intended.
    logging.set_verbosity_error()
    try:
        config = AutoConfig.from_pretrained(base.path, num_labels=labels)
        config.classifier_dropout = 0.0
        if options.layers is not None:
            _cut(config, options.layers, base)
        return AutoModelForTokenClassification.from_pretrained(
            base.path, config=config, dtype=torch.float32
        )
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{base.path} cannot be loaded as a tagger's base: {error}") from error
    finally:
        logging.set_verbosity(verbosity)


def _cut(config: Any, layers: int, base: Base) -> None:
    if layers > config.num_hidden_layers:
        raise InputError(
            f"tagger.layers is {layers}, but {base.name} has {config.num_hidden_layers} layers."
        )
    config.num_hidden_layers = layers
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[:layers]
