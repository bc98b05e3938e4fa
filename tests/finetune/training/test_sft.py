"""Training end to end with the tiny recipe: what it writes, and that a killed run loses nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file

from finetune.base import TINY, resolve_base
from finetune.manifest import Manifest, load_adapter, write_manifest
from finetune.models import save_merged
from finetune.recipe import RECIPES, FinetuneConfig
from finetune.training.data import load_data
from finetune.training.loop import FinetuneResult, last_checkpoint
from programs import prompts
from reno_dspy.base.config import resolve
from reno_dspy.base.errors import InputError
from reno_dspy.base.rundir import RunDir
from reno_dspy.base.tracker import NullRun
from reno_dspy.cli.main import group

Runs = tuple[FinetuneResult, FinetuneResult]


class Killed(BaseException):
    """The process ends here."""


class KillingRun(NullRun):
    """A run during which the process ends at a step."""

    def metrics(self, values: Mapping[str, float | None], step: int | None = None) -> None:
        if step == 5:
            raise Killed


class KillingTracker:
    @contextmanager
    def start(self, *args: Any, **kwargs: Any) -> Iterator[KillingRun]:
        yield KillingRun()


def test_a_run_killed_and_resumed_ends_with_the_same_weights(
    tiny_job: Any, tiny_runs: Runs, tmp_path: Path
) -> None:
    with pytest.raises(Killed):
        tiny_job(tmp_path / "run", KillingTracker(), seed=0)
    assert not (tmp_path / "run" / "adapter").exists()
    resumed = tiny_job(tmp_path / "run", seed=0)
    assert resumed.adapter.digest == tiny_runs[0].adapter.digest
    assert resumed.losses == tiny_runs[0].losses
    assert list(resumed.losses) == list(range(1, 9))
    assert tiny_runs[1].adapter.digest != resumed.adapter.digest
    last = "checkpoints/checkpoint-8/adapter_model.safetensors"
    whole, again = (
        load_file(Path(run.adapter.path).parent / last) for run in (tiny_runs[0], resumed)
    )
    assert all(torch.equal(whole[name], again[name]) for name in whole)
    tokens, tokens_again = (
        [step["train/tokens"] for step in RunDir(run.adapter.path.parent).log("train.jsonl").read()]
        for run in (tiny_runs[0], resumed)
    )
    assert tokens == tokens_again == sorted(set(tokens))


@pytest.mark.parametrize(
    "name", ["optimizer.pt", "adapter_model.safetensors", "trainer_state.json"]
)
def test_a_checkpoint_cut_by_a_power_failure_is_named_and_the_one_before_it_used(
    tiny_runs: Runs, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "checkpoints"
    shutil.copytree(Path(tiny_runs[0].adapter.path).parent / "checkpoints", folder)
    newest = last_checkpoint(folder)
    assert newest is not None
    content = (newest / name).read_bytes()
    (newest / name).write_bytes(content[: len(content) // 2])
    before = last_checkpoint(folder)
    assert before is not None
    assert before.parent == folder
    assert before != newest
    assert f"{newest / name} is damaged; trying" in capsys.readouterr().err
    for path in folder.glob("checkpoint-*"):
        (path / name).write_bytes(content[: len(content) // 2])
    assert last_checkpoint(folder) is None
    assert "is damaged; training starts over" in capsys.readouterr().err


def test_the_loss_falls(tiny_runs: Runs) -> None:
    losses = list(tiny_runs[0].losses.values())
    assert losses[-1] < losses[0]


def test_an_adapter_is_whole_in_itself(tiny_runs: Runs) -> None:
    result = tiny_runs[0]
    adapter = load_adapter(result.adapter.path.parent, resolve_base(TINY))
    manifest = adapter.manifest
    weights = load_file(adapter.path / "adapter_model.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float16}
    prompt = prompts.load(adapter.path / "prompt.json")
    assert (prompt.name, prompt.digest) == ("brief", manifest.prompt_digest)
    assert [(part["split"], part["rows"]) for part in manifest.data][1] == ("dev", 2)
    assert manifest.results["rows"]["used"] > 8
    assert result.best
    assert manifest.results["dev"] == result.best
    assert adapter.name() == f"tiny+{manifest.digest[:12]}"
    card = (adapter.path / "README.md").read_text(encoding="utf-8")
    assert manifest.data[0]["digest"] in card
    config = (adapter.path / "adapter_config.json").read_text(encoding="utf-8")
    assert json.loads(config)["base_model_name_or_path"] == TINY
    assert str(Path.home()) not in config


def test_a_finished_run_is_not_trained_again(tiny_job: Any, tiny_runs: Runs) -> None:
    before = tiny_runs[0].adapter.path.stat().st_mtime_ns
    again = tiny_job(tiny_runs[0].adapter.path.parent, KillingTracker(), seed=0)
    assert again == tiny_runs[0]
    assert again.adapter.path.stat().st_mtime_ns == before


def test_another_configuration_does_not_resume(tiny_job: Any, tiny_runs: Runs) -> None:
    with pytest.raises(InputError, match="lora"):
        tiny_job(tiny_runs[0].adapter.path.parent, seed=0, lora={"rank": 8})


def test_merging_writes_a_model_that_is_not_the_base(tiny_runs: Runs, tmp_path: Path) -> None:
    base = resolve_base(TINY)
    save_merged(base, tiny_runs[0].adapter, tmp_path / "merged")
    merged = resolve_base(str(tmp_path / "merged"))
    assert merged.revision != base.revision
    with pytest.raises(InputError, match="--merge"):
        save_merged(base, tiny_runs[0].adapter, tmp_path / "merged")
    with pytest.raises(InputError, match="Base mismatch"):
        load_adapter(tiny_runs[0].adapter.path, merged)


@pytest.fixture
def copied(tiny_runs: Runs, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_runs[0].adapter.path, tmp_path / "copied"))


def test_changed_weights_do_not_load(copied: Path) -> None:
    weights = copied / "adapter_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(InputError, match="Digest mismatch"):
        load_adapter(copied)


def test_another_rank_does_not_load(copied: Path) -> None:
    manifest = load_adapter(copied).manifest
    write_manifest(copied, Manifest.model_validate(manifest.model_dump() | {"rank": 8}))
    with pytest.raises(InputError, match=r"Rank mismatch.*have rank 4.*says 8"):
        load_adapter(copied)


def test_no_adapter_is_said_plainly(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No adapter in"):
        load_adapter(tmp_path)


def test_train_and_dev_share_no_article(tiny_job: Any, tmp_path: Path) -> None:
    data = load_data(tiny_job.config(tmp_path, limit=6))
    train, dev = ({row.cluster for row in part.rows} for part in (data.train, data.dev))
    assert (len(data.train.rows), len(data.dev.rows)) == (6, 2)
    assert not train & dev


def test_nothing_to_train_on_is_said_plainly(tiny_job: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="licence"):
        tiny_job(tmp_path / "run", licences=["MIT"])


@pytest.mark.parametrize("recipe", sorted(path.stem for path in RECIPES.glob("*.yaml")))
def test_the_recipes_that_ship_are_valid(recipe: str) -> None:
    flags = {"data": "x", "out": "y"}
    assert prompts.load(resolve(FinetuneConfig, RECIPES / f"{recipe}.yaml", flags).prompt)


def test_an_unknown_option_is_refused(tmp_path: Path) -> None:
    recipe = tmp_path / "r.yaml"
    recipe.write_text("base: tiny\nlora: {ranks: 8}\n", encoding="utf-8")
    arguments = ["finetune", str(recipe), "--data", "x", "--out", "y", "--dry-run"]
    result = CliRunner().invoke(group, arguments)
    assert isinstance(result.exception, InputError)
    assert "lora.ranks" in str(result.exception)
