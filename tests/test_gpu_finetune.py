"""benchmarks/gpu_finetune: what is packed here trains there, without DSPy, MLflow and LiteLLM."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import pytest
from torch import nn
from transformers import AutoModelForCausalLM

from finetune.base import TINY, resolve_base
from finetune.manifest import load_adapter
from finetune.recipe import RECIPES, FinetuneConfig, Lora
from finetune.training.data import load_data
from programs import prompts
from programs.chat_format import render_messages
from reno_dspy.base.config import resolve
from reno_dspy.base.errors import InputError
from reno_dspy.base.files import cache_dir

ROOT = Path(__file__).resolve().parents[1]
# Python starts with this: the finder does as if the packages were not installed.
WITHOUT = """
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.split(".")[0] in {"dspy", "litellm", "mlflow", "gepa", "markitdown", "lingua"}:
            return None
        return super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Without
"""


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


gpu_finetune = load("gpu_finetune")
gpu_job = load("gpu_finetune_job")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("packed") / "pairs.jsonl"
    with open(path, "w", encoding="utf-8") as file:
        for number in range(20):
            gold = f"<source>J Fict</source><year>{1980 + number}</year><volume>{number}</volume>"
            record = {
                "id": f"r{number}",
                "citing_article": f"10.5555/a{number}",
                "plaintext": f"Veldt A. ※ On glass. J Fict. {1980 + number};{number}:1-9.",
                "xml": f"<element-citation>{gold}</element-citation>",
            }
            file.write(json.dumps(record) + "\n")
    return path


def test_pieces_are_checked_and_joined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_bytes(os.urandom(100_000))
    with tarfile.open(tmp_path / "pack.tar", "w") as tar:
        tar.add(tmp_path / "file", "file")
    out = tmp_path / "pieces"
    index, *pieces = gpu_finetune.cut(tmp_path / "pack.tar", out, 40_000)
    assert [piece.stat().st_size <= 40_000 for piece in pieces] == [True] * 3
    (tmp_path / "work").mkdir()
    gpu_finetune.join(out, tmp_path / "work")
    assert (tmp_path / "work/file").read_bytes() == (tmp_path / "file").read_bytes()
    pieces[1].write_bytes(b"other")
    with pytest.raises(SystemExit, match=r"pack\.1 is not what was packed"):
        gpu_finetune.join(out, tmp_path / "work")
    pieces[1].unlink()
    with pytest.raises(SystemExit, match=r"pack\.1 is missing"):
        gpu_finetune.join(out, tmp_path / "work")
    index.unlink()
    with pytest.raises(SystemExit, match="has no pack"):
        gpu_finetune.join(out, tmp_path / "work")


def test_packed_messages_ask_as_the_adapter_asks(pairs: Path) -> None:
    job = gpu_finetune.describe(RECIPES / "smollm2-135m.yaml", pairs, ["prompt=two-shot"])
    prompt = prompts.load("two-shot")
    assert job["prompt_digest"] == prompt.digest
    for reference in ("Veldt A. On glass. 1980.", "  ※ two\n lines "):
        asked = render_messages(prompt, reference)
        assert gpu_finetune.filled(job["messages"], reference) == asked
    with pytest.raises(InputError, match="does not exist"):
        gpu_finetune.describe(RECIPES / "tiny.yaml", Path("nowhere"), [])
    with pytest.raises(InputError, match="small enough"):
        gpu_finetune.describe(RECIPES / "qwen3-0.6b.yaml", pairs, [])


def test_a_step_on_a_gpu_has_more_rows_and_a_greater_rate(pairs: Path) -> None:
    recipe = RECIPES / "smollm2-135m.yaml"
    flags = {"data": "x", "out": "y"}
    before = resolve(FinetuneConfig, recipe, flags).optimizer
    sets = gpu_finetune.gpu_options(before)
    after = resolve(FinetuneConfig, recipe, flags, sets).optimizer
    assert after.batch_size * after.accumulation == gpu_finetune.GPU_ROWS
    growth = gpu_finetune.GPU_ROWS / (before.batch_size * before.accumulation)
    assert after.learning_rate == pytest.approx(before.learning_rate * growth**0.5, rel=1e-2)


def test_flops_are_those_of_the_matrices() -> None:
    base = resolve_base(TINY)
    lora = Lora(rank=4)
    model = AutoModelForCausalLM.from_pretrained(base.path)
    linear = {name: part for name, part in model.named_modules() if isinstance(part, nn.Linear)}
    adapted = [part for name, part in linear.items() if name != "lm_head"]
    trained = sum(lora.rank * sum(part.weight.shape) for part in adapted)
    frozen = sum(part.weight.numel() for part in linear.values())
    # 2 layers, 4 heads of 8: scores and sums of 10 positions, half of them masked, three passes.
    attention = 2 * 3 * (2 + 2) * (4 * 8) * 10 / 2
    expected = 4 * frozen + 6 * trained + attention
    assert gpu_job.flops_per_token(base.path, lora, 10) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("device", "peak"),
    [("NVIDIA H200", 989e12), ("NVIDIA A100-SXM4-80GB", 312e12), ("NVIDIA L4", 121e12)],
)
def test_known_peaks(device: str, peak: float) -> None:
    assert gpu_job.peak_flops(device) == (peak, "data sheet")


def test_steps_that_end_in_a_measurement_are_not_timed() -> None:
    watch = gpu_job.Stopwatch()
    for step in range(1, 5):
        if step == 3:
            watch.metrics({"dev/recall": 1.0}, step)
        watch.metrics({"train/loss": 1.0, "train/tokens": 100.0 * step}, step)
    assert [tokens for _, tokens in watch.steps] == [100.0, 100.0]
    assert gpu_job.Stopwatch().speed(4)["seconds_a_step"] is None


def test_training_takes_the_time_that_is_left(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = {"data": str(pairs), "out": "x", "epochs": 10}
    config = resolve(FinetuneConfig, RECIPES / "tiny.yaml", flags)
    reserve = gpu_job.SAVING_SECONDS + gpu_job.QWEN_SECONDS + 3 * gpu_job.WRITING_SECONDS
    with monkeypatch.context() as patched:
        patched.setattr(gpu_job.time, "time", lambda: 1000.0)
        some, none, all_of_it = (
            gpu_job.with_steps(config, 2.0, 1000.0 + seconds, None)
            for seconds in (reserve + 40, 1, 10_000)
        )
    assert (some.max_steps, some.dev.every) == (20, 7)
    assert none.max_steps == 1
    # 18 rows in train, two a step.
    assert all_of_it.max_steps == 90


@pytest.mark.slow
def test_a_pack_trains_without_the_frameworks(pairs: Path, tmp_path: Path) -> None:
    resolve_base(TINY)
    sets = ["optimizer.batch_size=2", "dev.max_tokens=4", "max_length=512"]
    gpu_finetune.pack("tiny", pairs, tmp_path / "pack", sets, wheels=())
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "sitecustomize.py").write_text(WITHOUT, encoding="utf-8")
    script = [sys.executable, str(ROOT / "benchmarks" / "gpu_finetune.py"), "run"]
    environment = os.environ | {
        "PYTHONPATH": str(tmp_path / "without"), "RENO_CACHE": str(cache_dir()),
        "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    options = [str(tmp_path / "pack"), "--out", str(tmp_path / "out"), "--steps", "3"]
    done = subprocess.run(
        [*script, *options], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "out/figures.json").read_text(encoding="utf-8"))
    assert figures["tiny"]["tokens_per_s"] > 0
    assert figures["qwen3-0.6b shape"]["tokens_per_s"] > 0
    assert figures["trained"]["steps"] == 3
    adapter = load_adapter(tmp_path / "out", resolve_base(TINY))
    config = resolve(FinetuneConfig, RECIPES / "tiny.yaml", {"data": str(pairs), "out": "x"})
    assert adapter.manifest.data[0]["digest"] == load_data(config).train.digest
    assert adapter.manifest.prompt_digest == prompts.load("brief").digest
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "adapter", "figures.json", "train.jsonl", "evaluations.jsonl"
    }  # fmt: skip
