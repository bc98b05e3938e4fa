"""Several processes train one adapter: each has its own rows, the first alone writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from finetune.base import TINY, resolve_base
from finetune.manifest import load_adapter
from finetune.training.processes import processes
from reno_dspy.base.errors import InputError


@pytest.mark.slow
def test_two_processes_train_one_adapter(pairs: Path, tmp_path: Path) -> None:
    resolve_base(TINY)
    # What `accelerate launch` starts for several GPUs, here over gloo.
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", "-m"]
    job = ["reno_dspy.cli", "finetune", "tiny", "--data", str(pairs), "--max-steps", "4"]
    options = ["--out", str(tmp_path / "run"), "--set", "dev.every=2", "--no-tracking"]
    done = subprocess.run(
        [*launch, *job, *options],
        env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert load_adapter(tmp_path / "run", resolve_base(TINY)).manifest.results["dev"]
    assert [r["step"] for r in read(tmp_path / "run/evaluations.jsonl")] == [2, 4]
    steps = read(tmp_path / "run/train.jsonl")
    assert [record["step"] for record in steps] == [1, 2, 3, 4]
    # Of 21 rows, two processes see two each a step.
    assert steps[-1]["train/epoch"] == pytest.approx(4 / 6)
    for number in range(2):
        assert (tmp_path / f"run/checkpoints/checkpoint-4/rng_state_{number}.pth").exists()


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_one_process_with_several_gpus_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    with pytest.raises(InputError, match="--num_processes 4"):
        processes()


def test_packing_without_flash_attention_is_refused(tiny_job: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="FlashAttention"):
        tiny_job(tmp_path / "run", optimizer={"packing": True})
    assert not (tmp_path / "run").exists()
