"""A tiny encoder tagger, trained once a session."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from transformers import BertConfig, BertModel

from finetune.base import resolve_base
from finetune.recipe import RECIPES, FinetuneConfig
from finetune.training.data import load_data
from finetune.training.encoder import train_encoder
from finetune.training.loop import FinetuneResult
from reno_dspy.base.config import resolve
from reno_dspy.base.tracker import NullTracker, Tracker

Job = Callable[..., FinetuneResult]


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random encoder of two narrow layers with the vocabulary of the real one."""
    folder = tmp_path_factory.mktemp("base")
    real = resolve_base("multilingual-e5-small").path
    config = BertConfig(
        vocab_size=250_037, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=128, pad_token_id=1,
    )  # fmt: skip
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    shutil.copyfile(real / "tokenizer.json", folder / "tokenizer.json")
    return folder


@pytest.fixture(scope="session")
def job(base: Path, pairs: Path) -> Job:
    def train(out: Path, *sets: str, tracker: Tracker | None = None) -> FinetuneResult:
        flags = {"base": str(base), "data": str(pairs), "out": out, "max_steps": 6}
        small = [
            "encoder.min_count=4", "encoder.vocabulary=1000", "max_length=128", "save_every=2",
            "dev.every=3", "optimizer.batch_size=4",
        ]  # fmt: skip
        config = resolve(FinetuneConfig, RECIPES / "tagger.yaml", flags, [*small, *sets])
        return train_encoder(config, load_data(config), tracker or NullTracker())

    return train


@pytest.fixture(scope="session")
def trained(job: Job, tmp_path_factory: pytest.TempPathFactory) -> FinetuneResult:
    return job(
        tmp_path_factory.mktemp("tagger") / "run",
        "max_steps=100",
        "encoder.dropout=0",
        "optimizer.learning_rate=3e-3",
        "dev.every=50",
    )
