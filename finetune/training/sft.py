"""Supervised fine-tuning with LoRA: pairs -> an adapter on disk.

    reno finetune smollm2-135m --data DATA --out DIR

TRL's SFTTrainer on prompt/completion rows; the loss falls on the answer and its end token alone. A
killed run resumes from its last checkpoint and ends with the same weights. On several GPUs:
`accelerate launch --multi_gpu -m reno_dspy.cli finetune ...` (docs/finetuning.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import datasets
import torch
from peft import get_peft_model
from transformers import set_seed
from transformers.utils import is_flash_attn_2_available, logging
from trl import SFTConfig, SFTTrainer

from finetune.base import Base, resolve_base
from finetune.cpu import halve_linears, has_bfloat16
from finetune.models import load_model, load_tokenizer, old_names_allowed
from finetune.recipe import FinetuneConfig
from finetune.training.cpu_trainer import CpuTrainer
from finetune.training.data import TrainingData
from finetune.training.job import Job, opened, tracked
from finetune.training.loop import (
    CHECKPOINTS,
    FinetuneResult,
    conclude,
    lora_config,
    nothing_to_train_on,
    result_of,
    run_trainer,
    trainer_options,
)
from finetune.training.measure import DevSet, measure
from finetune.training.order import OrderedTrainer
from finetune.training.processes import processes
from finetune.training.rows import RowsReport, TrainingRow, drop_long, make_rows, to_records
from finetune.training.save import ADAPTER, save_adapter
from programs import prompts
from programs.prompts import Prompt
from reno_dspy.base.errors import InputError
from reno_dspy.base.files import write_json
from reno_dspy.base.tracker import NullTracker, Run, Tracker

# The attention that keeps rows apart that are packed into one.
_PACKING = "flash_attention_2"


def finetune(
    config: FinetuneConfig, data: TrainingData, tracker: Tracker, *, fresh: bool = False
) -> FinetuneResult:
    """Train an adapter by `config` on `data` into `config.out`, or resume that.

    Raises InputError when the run directory holds another run, or no row can be trained on.
    """
    _check_packing(config)
    here = processes()
    with here.main_process_first():
        base = resolve_base(config.base)
    prompt = prompts.load(config.prompt)
    tracker = tracker if here.is_main_process else NullTracker()
    with opened(config, base, data, prompt=prompt, fresh=fresh) as job:
        tokenizer = load_tokenizer(base)
        rows, report = _training_rows(config, data, prompt, tokenizer)
        write_json(job.run_dir / "rows.json", report.as_dict())
        with tracked(job, tracker) as run:
            run.tags({"uses.prompt": prompt.digest})
            if not (job.run_dir / ADAPTER).is_dir():
                dev = DevSet(
                    data.dev.rows, prompt, tokenizer, config.dev.max_tokens, config.thinking
                )
                with old_names_allowed():
                    model = _train(job, rows, dev, run)
                if here.is_main_process:
                    save_adapter(job, model, report, prompt=prompt)
                here.wait_for_everyone()
            result = result_of(job.run_dir, report)
            conclude(run, result)
    return result


def _check_packing(config: FinetuneConfig) -> None:
    if config.optimizer.packing and not is_flash_attn_2_available():
        raise InputError(
            "optimizer.packing needs FlashAttention on a GPU (`pip install flash-attn`): with any other "
            "attention, references packed into one row would read each other. Set it to false."
        )


def _training_rows(
    config: FinetuneConfig, data: TrainingData, prompt: Prompt, tokenizer: Any
) -> tuple[list[TrainingRow], RowsReport]:
    made, report = make_rows(
        data.train.rows,
        prompt,
        licences=config.licences,
        complete_only=config.complete_only,
        noise=config.noise,
        seed=config.seed,
    )
    rows = drop_long(made, tokenizer, config.max_length, report)
    if not rows:
        raise nothing_to_train_on(config, report)
    return rows, report


def _train(job: Job, rows: Sequence[TrainingRow], dev: DevSet, run: Run) -> Any:
    """Train to the end; the PEFT model with its last weights."""
    config = job.config
    logging.disable_progress_bar()
    datasets.disable_progress_bars()
    set_seed(config.seed)
    model = _with_lora(config, job.base)
    arguments = _arguments(config, job.run_dir / CHECKPOINTS)
    # The CPU's loss goes around the wrapper by which several processes share gradients.
    alone = processes().num_processes == 1
    kind = CpuTrainer if alone and not torch.cuda.is_available() else GpuTrainer
    trainer = kind(
        model,
        arguments,
        train_dataset=datasets.Dataset.from_list(to_records(rows, config.thinking)),
        processing_class=dev.tokenizer,
    )

    def figures(model: Any) -> dict[str, float | None]:
        base = model.get_base_model()
        if not config.optimizer.packing:
            return measure(base, dev)
        # Answers are generated with masks of our own, which FlashAttention does not take.
        base.set_attn_implementation("sdpa")
        try:
            return measure(base, dev)
        finally:
            base.set_attn_implementation(_PACKING)

    run_trainer(trainer, job, len(rows), figures if dev.rows else None, run)
    return trainer.model


class GpuTrainer(OrderedTrainer, SFTTrainer):  # type: ignore[misc]
    """TRL's own loss."""


def _with_lora(config: FinetuneConfig, base: Base) -> Any:
    peft_config = lora_config(config.lora, "CAUSAL_LM")
    model = load_model(base)
    if config.optimizer.packing:
        model.set_attn_implementation(_PACKING)
    try:
        model = get_peft_model(model, peft_config)
    except ValueError as error:
        raise InputError(f"LoRA does not fit {base.name}: {error}") from error
    if not torch.cuda.is_available() and has_bfloat16():
        # The trainer has its own head.
        halve_linears(model, keep=frozenset({"lm_head"}))
    return model


def _arguments(config: FinetuneConfig, folder: Path) -> SFTConfig:
    packing = config.optimizer.packing
    return SFTConfig(
        **trainer_options(config, folder),
        packing=packing,
        # Lengths were checked; without packing nothing may be cut.
        max_length=config.max_length if packing else None,
        completion_only_loss=True,
        # Left alone, TRL turns it on, which is many times slower on a CPU.
        activation_checkpointing=False,
    )
