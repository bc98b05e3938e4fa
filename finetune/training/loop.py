"""What every training shares: the loop with its checkpoints, and the result that it logs."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from peft import LoraConfig
from safetensors import SafetensorError, safe_open
from transformers import PrinterCallback, Trainer

from finetune.manifest import Adapter, load_adapter
from finetune.recipe import FinetuneConfig, Lora
from finetune.training.callbacks import LiveCallback, RecallCallback, best_of
from finetune.training.job import Job
from finetune.training.processes import processes
from finetune.training.rows import RowsReport
from finetune.training.save import ADAPTER
from reno_dspy.base.errors import InputError
from reno_dspy.base.progress import bar, say
from reno_dspy.base.rundir import RunDir
from reno_dspy.base.tracker import Run
from reno_dspy.systems.tagger.manifest import TaggerModel

CHECKPOINTS = "checkpoints"
_CHECKPOINT = re.compile(r"checkpoint-(\d+)\Z")


@dataclass(frozen=True)
class FinetuneResult:
    """The adapter, the loss of each step, and the best measurement on dev (None: none was made)."""

    adapter: Adapter | TaggerModel
    losses: dict[int, float]
    best: dict[str, Any] | None
    rows: dict[str, Any]


def lora_config(
    lora: Lora, task: Literal["CAUSAL_LM", "TOKEN_CLS"], save: tuple[str, ...] = ()
) -> LoraConfig:
    """PEFT's configuration; the modules that `save` names are trained whole."""
    return LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=list(lora.targets),
        modules_to_save=list(save) or None,
        task_type=task,
    )


def nothing_to_train_on(config: FinetuneConfig, report: RowsReport) -> InputError:
    """The error when no row of the data can be used."""
    return InputError(
        f"None of the {report.given} rows of {config.data} can be used for training. Left out: "
        f"{dict(report.dropped)}. Check max_length, licences and complete_only."
    )


def trainer_options(config: FinetuneConfig, folder: Path) -> dict[str, Any]:
    """Arguments for transformers' TrainingArguments; checkpoints go to `folder`."""
    on_gpu = torch.cuda.is_available()
    options = config.optimizer
    return {
        "output_dir": str(folder),
        "per_device_train_batch_size": options.batch_size,
        "gradient_accumulation_steps": options.accumulation,
        "learning_rate": options.learning_rate,
        "lr_scheduler_type": options.schedule,
        "warmup_steps": options.warmup,
        "weight_decay": options.weight_decay,
        "max_grad_norm": options.max_grad_norm,
        "num_train_epochs": config.epochs,
        "max_steps": config.max_steps or -1,
        "bf16": on_gpu,
        "use_cpu": not on_gpu,
        "dataloader_pin_memory": on_gpu,
        "logging_steps": 1,
        # Kept in checkpoints, unlike TRL's own count.
        "include_num_input_tokens_seen": "non_padding",
        "save_steps": config.save_every,
        "save_total_limit": 2,
        "seed": config.seed,
        "data_seed": config.seed,
        # Several processes: all that is trained is used in every step, and buffers never change.
        "ddp_find_unused_parameters": False,
        "ddp_broadcast_buffers": False,
        "report_to": "none",
        "disable_tqdm": True,
    }


def run_trainer(
    trainer: Trainer,
    job: Job,
    rows: int,
    measure: Callable[[Any], dict[str, float | None]] | None,
    run: Run,
) -> None:
    """Train on `rows` rows to the end, from the last checkpoint if there is one.

    `measure` returns a model's figures on dev; the weights with the best `recall` are kept. None: there is
    no dev.
    """
    config, run_dir, here = job.config, job.run_dir, processes()
    if (config.tagger or config.encoder) and here.num_processes > 1:
        raise InputError("A tagger trains in one process: run `reno finetune` without a launcher.")
    trainer.remove_callback(PrinterCallback)
    checkpoint = last_checkpoint(run_dir / CHECKPOINTS)
    total = config.max_steps or steps_of(config, rows, here.num_processes)
    done = int(_CHECKPOINT.search(checkpoint.name)[1]) if checkpoint else 0  # type: ignore[index]
    with ExitStack() as stack:
        if here.is_main_process:
            shown = stack.enter_context(bar("Fine-tuning", total, done))
            trainer.add_callback(LiveCallback(run, shown, run_dir.log("train.jsonl")))
        if measure:
            trainer.add_callback(RecallCallback(measure, config.dev, run_dir, run))
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)


def steps_of(config: FinetuneConfig, rows: int, devices: int) -> int:
    """Optimizer steps of the whole run, given the number of rows and of devices."""
    options = config.optimizer
    batches = -(-rows // (options.batch_size * devices))
    return round(max(-(-batches // options.accumulation), 1) * config.epochs)


def last_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint that is whole; its state file is written last.

    A power failure may leave files that were renamed and never reached the disk. A damaged checkpoint is
    reported, and the one before it is used; without any, training starts over.
    """
    found = [path for path in folder.glob("checkpoint-*") if (path / "trainer_state.json").exists()]
    newest_first = sorted(found, key=lambda path: int(path.name.split("-")[1]), reverse=True)
    for path in newest_first:
        damaged = next((file for file in sorted(path.iterdir()) if not _is_whole(file)), None)
        if damaged is None:
            return path
        oldest = path == newest_first[-1]
        say(
            f"{damaged} is damaged; "
            + ("training starts over." if oldest else "trying the checkpoint before it.")
        )
    return None


def _is_whole(file: Path) -> bool:
    """Whether a checkpoint's file can be read, as far as its format shows."""
    try:
        if file.suffix == ".safetensors":
            with safe_open(file, framework="numpy"):
                return True
        if file.suffix in (".pt", ".pth", ".bin"):
            # torch writes zip archives, whose directory stands at their end.
            return zipfile.is_zipfile(file)
        if file.suffix == ".json":
            json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SafetensorError):
        return False
    return True


def result_of(run_dir: RunDir, report: RowsReport) -> FinetuneResult:
    """The result in a finished run directory."""
    losses = {r["step"]: r["train/loss"] for r in run_dir.log("train.jsonl").read()}
    adapter = load_adapter(run_dir / ADAPTER)
    return FinetuneResult(adapter, losses, best_of(run_dir), report.as_dict())


def conclude(run: Run, result: FinetuneResult) -> None:
    """Log the result: the adapter, its best figures and its model card."""
    run.tags({"makes.adapter": result.adapter.digest})
    if result.best:
        values = {name: value for name, value in result.best.items() if name != "step"}
        run.metrics({f"best/{name}": value for name, value in values.items()})
    run.artifact(result.adapter.path, "adapter")
    run.describe((result.adapter.path / "README.md").read_text(encoding="utf-8"))
