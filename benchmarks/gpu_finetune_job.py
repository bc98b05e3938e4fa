"""The part of `gpu_finetune.py run` that trains; started by it in the folder of the unpacked pack.

First a few steps of the recipe, for its speed, then the recipe for as many steps as the time allows, and
last a few steps of a random model in the shape of Qwen3-0.6B.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from reno_dspy.base.tracker import NullRun

# FLOP/s of dense bfloat16 matrix products, from NVIDIA's data sheets.
PEAKS = {"H100": 989e12, "H200": 989e12, "A100": 312e12, "L4": 121e12}
WARM_UP = 5
SPEED_STEPS = 25
# Measurements on dev while the recipe trains, and how long one may take (not known beforehand): a
# language model writes its answers, a tagger reads once.
MEASUREMENTS = 3
WRITING_SECONDS, READING_SECONDS = 45.0, 10.0
SAVING_SECONDS = 15.0
QWEN_SECONDS = 60.0
QWEN_ROWS = 8
# Hub: Qwen/Qwen3-0.6B, config.json. Speed depends on the shape alone, so the weights are random.
QWEN = {
    "vocab_size": 151936, "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
    "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
    "max_position_embeddings": 40960, "tie_word_embeddings": True,
}  # fmt: skip
# On a CPU, where the figures mean nothing.
SHRUNK = {
    "vocab_size": 49152, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 1,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--until", type=float, required=True)
    parser.add_argument("--steps", type=int)
    options = parser.parse_args()
    if not torch.cuda.is_available() and options.steps is None:
        sys.exit("There is no GPU here (torch.cuda.is_available() is false). --steps tries a CPU.")
    job = json.loads(Path("job.json").read_text(encoding="utf-8"))
    offer_prompts(job["messages"])
    work(job, options.out, options.until, options.steps)


def offer_prompts(messages: Sequence[dict[str, str]]) -> None:
    """Stand in for `programs.chat_format`, whose DSPy is not here: what `pack` rendered and checked."""
    *beginning, last = messages

    def render_messages(prompt: object, reference: str) -> list[dict[str, str]]:
        return [*beginning, {**last, "content": reference}]

    module = ModuleType("programs.chat_format")
    module.render_messages = render_messages  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module


def work(job: Mapping[str, Any], out: Path, until: float, steps: int | None) -> None:
    """Train, measure both models, and leave adapter, logs and figures in `out`."""
    figures: dict[str, Any] = machine()
    recipe = configured(job, "speed", dev={"rows": 0}, max_steps=steps or SPEED_STEPS)
    speed = timed(recipe, figures["peak_flops"])
    tell(out, figures, recipe.base, speed)
    config = with_steps(configured(job, "run"), speed["seconds_a_step"], until, steps)
    tell(out, figures, "trained", timed(config, figures["peak_flops"]))
    shutil.copytree(config.out / "adapter", out / "adapter", dirs_exist_ok=True)
    for name in ("train.jsonl", "evaluations.jsonl"):
        if (config.out / name).exists():
            shutil.copy(config.out / name, out / name)
    if not recipe.tagger:
        tell(out, figures, "qwen3-0.6b shape", qwen_speed(job, figures["peak_flops"], steps))


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    import transformers
    import trl

    name = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    peak, source = peak_flops(name)
    return {
        "device": name, "peak_flops": peak, "peak_from": source, "python": sys.version.split()[0],
        "torch": torch.__version__, "transformers": transformers.__version__, "trl": trl.__version__,
    }  # fmt: skip


def peak_flops(device: str) -> tuple[float | None, str]:
    """FLOP/s of dense bfloat16 products on `device`, and whence the number comes."""
    for name, peak in PEAKS.items():
        if re.search(rf"\b{name}\b", device):
            return peak, "data sheet"
    return (_measured_peak(), "measured") if torch.cuda.is_available() else (None, "CPU")


def _measured_peak(size: int = 8192, products: int = 20) -> float:
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    for _ in range(3):
        a @ b
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(products):
        a @ b
    torch.cuda.synchronize()
    return products * 2 * size**3 / (time.perf_counter() - began)


def configured(job: Mapping[str, Any], out: str, **changes: Any) -> Any:
    """The packed recipe, writing into the folder `out`; `changes` are top-level options."""
    from finetune.recipe import FinetuneConfig
    from reno_dspy.base.config import resolve

    flags = {"data": job["data"], "out": Path(out)}
    config = resolve(FinetuneConfig, Path("recipe.yaml"), flags, job["sets"])
    values = {name: getattr(config, name) for name in config.model_fields_set}
    nested = {
        name: {**getattr(config, name).model_dump(), **value} if isinstance(value, dict) else value
        for name, value in changes.items()
    }
    return FinetuneConfig.model_validate(values | nested)


def with_steps(config: Any, seconds_a_step: float, until: float, steps: int | None) -> Any:
    """As many steps as end before `until`, at most the recipe's epochs, measured three times."""
    from finetune.training.data import load_data
    from finetune.training.loop import steps_of

    each, after = (READING_SECONDS, 0.0) if config.tagger else (WRITING_SECONDS, QWEN_SECONDS)
    reserve = SAVING_SECONDS + after + (MEASUREMENTS * each if config.dev.rows else 0)
    affordable = int((until - time.time() - reserve) / seconds_a_step)
    whole = steps_of(config, len(load_data(config).train.rows), 1)
    chosen = steps or max(1, min(affordable, whole))
    dev = config.dev.model_copy(update={"every": -(-chosen // MEASUREMENTS)})
    return config.model_copy(update={"max_steps": chosen, "dev": dev})


def timed(config: Any, peak: float | None) -> dict[str, Any]:
    """Train by `config`; speed, utilization and memory."""
    from finetune.base import resolve_base
    from finetune.training.data import load_data

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    watch, began = Stopwatch(), time.perf_counter()
    result = job_of(config)(config, load_data(config), watch)
    rows = config.optimizer.batch_size * config.optimizer.accumulation
    figures: dict[str, Any] = {
        "steps": max(result.losses), "rows_a_step": rows, "all_seconds": time.perf_counter() - began,
        "first_loss": result.losses[min(result.losses)], "last_loss": result.losses[max(result.losses)],
        "best": result.best,
    }  # fmt: skip
    figures |= watch.speed(rows)
    if torch.cuda.is_available():
        figures["peak_memory_gib"] = torch.cuda.max_memory_allocated() / 2**30
    if figures["tokens_per_s"] and not config.tagger:
        length = figures["tokens_per_s"] * figures["seconds_a_step"] / rows
        each = flops_per_token(resolve_base(config.base).path, config.lora, length)
        figures |= {"tokens_a_row": length, "flops_a_token": each}
        figures["mfu"] = figures["tokens_per_s"] * each / peak if peak else None
    return figures


def job_of(config: Any) -> Callable[..., Any]:
    """The job of `reno finetune` that this recipe is for."""
    if config.tagger:
        from finetune.training.tagger import train_tagger

        return train_tagger
    from finetune.training.sft import finetune

    return finetune


def qwen_speed(job: Mapping[str, Any], peak: float | None, steps: int | None) -> dict[str, Any]:
    """The recipe's speed on a random model of Qwen3-0.6B's shape, with the embedded tokenizer."""
    shape = QWEN if torch.cuda.is_available() else QWEN | SHRUNK
    folder = random_qwen(Path("qwen3-0.6b-shape"), shape)
    rows = min(QWEN_ROWS, configured(job, "qwen").optimizer.batch_size)
    changes = {"base": str(folder), "dev": {"rows": 0}, "optimizer": {"batch_size": rows}}
    config = configured(job, "qwen", max_steps=steps or SPEED_STEPS, **changes)
    try:
        return timed(config, peak)
    except torch.OutOfMemoryError as error:
        return {"error": str(error)}


def random_qwen(folder: Path, shape: Mapping[str, Any]) -> Path:
    """Write a model with random weights into `folder`."""
    from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM

    from finetune.base import EMBEDDED, resolve_base

    tokenizer = AutoTokenizer.from_pretrained(resolve_base(EMBEDDED).path)
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    model = Qwen3ForCausalLM(Qwen3Config(**shape, **ends)).to(torch.bfloat16)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def flops_per_token(base: Path, lora: Any, length: float) -> float:
    """FLOPs that a token of a row of `length` tokens costs in a step of LoRA training.

    A frozen matrix costs 4 a weight (forward, and the gradient of its input; there is none of its
    weights), a trained one 6, causal attention 6 x width x half of the length a layer. The head counts
    as a matrix, the embedding as a look-up.
    """
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(base)
    hidden, inner = config.hidden_size, config.intermediate_size
    size = getattr(config, "head_dim", None) or hidden // config.num_attention_heads
    width, narrow = config.num_attention_heads * size, config.num_key_value_heads * size
    matrices = {
        "q_proj": (hidden, width), "k_proj": (hidden, narrow), "v_proj": (hidden, narrow),
        "o_proj": (width, hidden), "gate_proj": (hidden, inner), "up_proj": (hidden, inner),
        "down_proj": (inner, hidden),
    }  # fmt: skip
    frozen = sum(a * b for a, b in matrices.values())
    trained = sum(lora.rank * sum(matrices[name]) for name in lora.targets)
    attention = 3 * 2 * 2 * width * length / 2
    layers = config.num_hidden_layers
    return layers * (4 * frozen + 6 * trained + attention) + 4 * hidden * config.vocab_size


class Stopwatch(NullRun):
    """A tracker, and its run, that times the steps; those that end in a measurement are left out."""

    def __init__(self) -> None:
        # Seconds and tokens (0: not counted) of each step but the first.
        self.steps: list[tuple[float, float]] = []
        self._last: tuple[float, float] | None = None
        self._measured = False

    @contextmanager
    def start(self, *args: Any, **kwargs: Any) -> Iterator[Stopwatch]:
        """The run."""
        yield self

    def metrics(self, values: Mapping[str, float | None], step: int | None = None) -> None:
        """Note when a step ended (its loss was read, so the GPU had ended it, too)."""
        if "dev/recall" in values:
            self._measured = True
        if "train/loss" in values:
            now, tokens = time.perf_counter(), values.get("train/tokens") or 0.0
            if self._last and not self._measured:
                self.steps.append((now - self._last[0], tokens - self._last[1]))
            self._last, self._measured = (now, tokens), False

    def speed(self, rows: int) -> dict[str, float | None]:
        """Means of all steps after the first few, of `rows` rows each; None where none was timed."""
        counted = self.steps[WARM_UP:] if len(self.steps) > 2 * WARM_UP else self.steps
        seconds, tokens = (sum(part) for part in zip(*counted, strict=True)) if counted else (0, 0)
        return {
            "seconds_a_step": seconds / len(counted) if counted else None,
            "rows_per_s": rows * len(counted) / seconds if counted else None,
            "tokens_per_s": tokens / seconds if tokens else None,
        }


def tell(out: Path, figures: dict[str, Any], name: str, values: dict[str, Any]) -> None:
    """Add a model's figures to those of the run, on disk and on the terminal."""
    figures[name] = values
    text = json.dumps(figures, indent=2, ensure_ascii=False)
    (out / "figures.json").write_text(text + "\n", encoding="utf-8")
    print(f"{name}: {json.dumps(values)}", flush=True)


if __name__ == "__main__":
    main()
