"""A fine-tuning recipe: everything an adapter's weights depend on, in one YAML file.

The recipes that ship lie in `finetune/recipes`; the command line only overrides them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from reno_dspy.base.config import Config, Free
from reno_dspy.data.noise import Noise
from reno_dspy.data.options import StrictData

RECIPES = Path(__file__).parent / "recipes"


class Lora(Config):
    """PEFT's LoRA options."""

    rank: int = Field(16, ge=1)
    alpha: int = Field(32, ge=1)
    dropout: float = Field(0.0, ge=0, lt=1)
    targets: tuple[str, ...] = (
        "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj",
    )  # fmt: skip


class Optimizer(Config):
    """AdamW and its schedule; a step sees `batch_size` x `accumulation` rows on each device."""

    learning_rate: float = Field(2e-5, gt=0)
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    warmup: float = Field(0.05, ge=0, le=1, description="Share of the steps.")
    weight_decay: float = Field(0.0, ge=0)
    max_grad_norm: float = Field(1.0, gt=0)
    batch_size: int = Field(2, ge=1)
    accumulation: int = Field(4, ge=1)
    packing: bool = Field(False, description="Pack rows (GPU with FlashAttention only).")


class DevSample(Config):
    """How the model is measured while it trains: by generated field recall on a sample of dev."""

    rows: int = Field(48, ge=0, description="0 measures nothing and keeps the last weights.")
    every: int = Field(200, ge=1, description="Steps between two measurements.")
    max_tokens: int = Field(768, ge=1)
    patience: int = Field(0, ge=0, description="Measurements without a gain that end it; 0: none.")


class TaggerOptions(Config):
    """A model that labels the words of a reference instead of writing its annotation."""

    layers: int | None = Field(None, ge=1, description="Layers of the base to use, from below.")
    context: Literal["once", "twice", "both_ways"] = Field(
        "both_ways", description="How a word sees what follows it (finetune.tagger.encoding)."
    )
    min_count: int = Field(30, ge=1, description="Fields annotated less often are not learnt.")


class EncoderOptions(Config):
    """A tagger on an encoder that is trained whole, but for its embeddings, and exported to ONNX."""

    layers: int | None = Field(None, ge=1, description="Layers of the base to use, from below.")
    vocabulary: int = Field(80_000, ge=1_000, description="Pieces to keep of the base's.")
    min_count: int = Field(30, ge=1, description="Fields annotated less often are not learnt.")
    dropout: float = Field(0.1, ge=0, lt=1, description="Of hidden values, while training.")
    head_learning_rate: float = Field(2e-3, gt=0, description="The head's own learning rate.")
    omissions: bool = Field(
        True, description="Let untagged words belong to fields that their gold may have left out."
    )


class FinetuneConfig(Config):
    """Options of `reno finetune`."""

    base: str = Field(description="smollm2-135m, a model directory, or a hub id.")
    data: str = Field(
        description="Data set with train and dev, or other data, split by citing article."
    )
    strict_data: Free[StrictData] = False
    out: Free[Path] = Field(description="Run directory; an unfinished run there is resumed.")
    prompt: str = Field("zero-shot", description="Prompt: a name that ships, or a prompt file.")
    start_from: Free[Path | None] = Field(
        None,
        description="Tagger on an encoder (run or model directory) to go on from, not from the base.",
        json_schema_extra={"flag": "--from"},
    )
    rehearsal: str | None = Field(
        None, description="With --from: data whose train is mixed in, so that nothing is forgotten."
    )
    rehearsal_share: float = Field(
        0.8, gt=0, lt=1, description="Share of the rows that are rehearsed."
    )
    limit: int | None = Field(None, ge=1, description="Train on that many rows, drawn by --seed.")
    seed: int = Field(0, description="Seed of order, draws, noise and initial weights.")
    epochs: float = Field(3.0, gt=0, description="Passes over the rows.")
    max_steps: int | None = Field(None, ge=1, description="Stop at that many steps instead.")
    max_length: int = Field(1024, ge=16, description="Longest row in tokens; longer are left out.")
    save_every: Free[int] = Field(50, ge=1, description="Steps between two checkpoints.")
    licences: tuple[str, ...] = Field((), description="Licences that rows must have; () is any.")
    complete_only: bool = Field(True, description="Leave out rows whose gold found no place.")
    thinking: bool | None = Field(None, description="Qwen3: False trains without thinking.")
    lora: Lora = Lora()
    optimizer: Optimizer = Optimizer()
    dev: DevSample = DevSample()
    noise: Noise = Noise()
    tagger: TaggerOptions | None = Field(None, description="Train a language model as a tagger.")
    encoder: EncoderOptions | None = Field(None, description="Train an encoder as a tagger.")

    @model_validator(mode="after")
    def _a_tagger_is_not_asked(self) -> Self:
        if self.tagger and self.encoder:
            raise ValueError("a tagger is made of a language model or of an encoder, not of both")
        if (self.tagger or self.encoder) and {"prompt", "thinking"} & self.model_fields_set:
            raise ValueError("a tagger takes neither prompt nor thinking")
        return self

    @model_validator(mode="after")
    def _only_encoders_go_on(self) -> Self:
        if self.start_from and not self.encoder:
            raise ValueError("--from goes on from a tagger on an encoder: take the recipe tagger")
        if self.rehearsal and not self.start_from:
            raise ValueError(
                "rehearsal needs --from, a tagger that has learnt something to rehearse"
            )
        return self
