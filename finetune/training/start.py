"""Where the training of an encoder tagger begins: at a base, or at a tagger that is trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForTokenClassification
from transformers.utils import logging

from finetune.base import Base
from finetune.cpu import halve_trained_linears, has_bfloat16
from finetune.recipe import EncoderOptions
from finetune.training.callbacks import BEST
from finetune.training.restore import restored
from finetune.training.targets import labels_for
from finetune.training.vocabulary import kept_pieces, pruned
from reno_dspy.base.errors import InputError
from reno_dspy.data.lessons import Lesson
from reno_dspy.systems.tagger.labels import Labels
from reno_dspy.systems.tagger.manifest import MODEL, TOKENIZER, TaggerModel, load_tagger


@dataclass(frozen=True)
class Start:
    """The labels to learn, the text of `tokenizer.json`, and what makes the model that is trained."""

    labels: Labels
    tokenizer: str
    model: Callable[[], Any]


def begin(base: Base, lessons: Sequence[Lesson], options: EncoderOptions) -> Start:
    """A fresh head on `base`: labels and vocabulary are those of `lessons`."""
    labels = labels_for(lessons, options.min_count)
    whole = base.path / TOKENIZER
    kept = kept_pieces(whole, (one.plaintext for one in lessons), options.vocabulary)
    tokenizer: str = pruned(whole, kept).to_str()
    return Start(labels, tokenizer, lambda: new_encoder(base, options, kept, len(labels.names)))


def open_trained(run: Path, base: Base) -> TaggerModel:
    """The tagger in a run or model directory, to go on from.

    Raises InputError when there is none, or it is of another base.
    """
    trained = load_tagger(run)
    if trained.manifest.base != base.name:
        raise InputError(
            f"{run} was trained on {trained.manifest.base}, and the recipe's base is {base.name}."
        )
    return trained


def go_on(trained: TaggerModel, options: EncoderOptions) -> Start:
    """The weights of `trained`, its labels and its vocabulary; fields that it lacks stay unlearnt.

    The weights are those of its run, or, where only the exported model is there, those of that.
    """
    tokenizer = (trained.path / TOKENIZER).read_text(encoding="utf-8")
    best = trained.path.parent / BEST

    def model() -> Any:
        if not (best / "config.json").is_file():
            return _prepared(restored(trained.path / MODEL, options.dropout))
        config = _dropped(AutoConfig.from_pretrained(best), options)
        return _prepared(_classifier(best, config))

    return Start(Labels(trained.manifest.labels), tokenizer, model)


def new_encoder(base: Base, options: EncoderOptions, kept: Sequence[int], labels: int) -> Any:
    """The base over the pieces `kept`, with a fresh head over `labels`, ready to train.

    Raises InputError when the base is not a BERT-like encoder or has too few layers.
    """
    config = encoder_config(base, options)
    config.num_labels = labels
    model = _classifier(base.path, config)
    embeddings = model.bert.embeddings
    table = embeddings.word_embeddings.weight.detach()[list(kept)]
    embeddings.word_embeddings = nn.Embedding(len(kept), table.shape[1], _weight=table)
    model.config.vocab_size = len(kept)
    return _prepared(model)


def _prepared(model: Any) -> Any:
    """`model` for training: embeddings frozen, products in bfloat16 where the CPU has it."""
    model.bert.embeddings.word_embeddings.weight.requires_grad_(False)
    if not torch.cuda.is_available() and has_bfloat16():
        halve_trained_linears(model.bert)
    return model


def encoder_config(base: Base, options: EncoderOptions) -> Any:
    """Transformers' configuration of `base` under `options`. Raises InputError as `new_encoder`."""
    config = AutoConfig.from_pretrained(base.path)
    if config.model_type != "bert":
        raise InputError(
            f"{base.name} is a {config.model_type} model; an encoder tagger needs a BERT one, such as "
            "multilingual-e5-small. Use the recipe `tagger-smollm2` for language models."
        )
    if options.layers and options.layers > config.num_hidden_layers:
        raise InputError(
            f"encoder.layers is {options.layers}, but {base.name} has {config.num_hidden_layers}."
        )
    config.num_hidden_layers = options.layers or config.num_hidden_layers
    return _dropped(config, options)


def _dropped(config: Any, options: EncoderOptions) -> Any:
    config.hidden_dropout_prob = options.dropout
    # Costs time on a CPU and gains nothing on short texts.
    config.attention_probs_dropout_prob = config.classifier_dropout = 0.0
    return config


def _classifier(path: Path, config: Any) -> Any:
    verbosity = logging.get_verbosity()
    # A base has no head yet, which it would warn of.
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        return AutoModelForTokenClassification.from_pretrained(
            path, config=config, dtype=torch.float32
        )
    finally:
        logging.set_verbosity(verbosity)
