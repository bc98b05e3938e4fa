"""Training an encoder tagger, and the ONNX file that comes of it."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from transformers import AutoModelForTokenClassification

from finetune.recipe import RECIPES, FinetuneConfig
from finetune.training.data import load_data
from finetune.training.encoder import TorchNetwork, train_encoder
from finetune.training.loop import FinetuneResult
from finetune.training.restore import restored
from reno_dspy.base.config import resolve
from reno_dspy.base.errors import InputError
from reno_dspy.base.tracker import NullRun, NullTracker
from reno_dspy.cli.main import group
from reno_dspy.data.dataset import load
from reno_dspy.jats.citation import parse, read, read_values, text_of
from reno_dspy.systems.tagger.encoding import Pieces, encode
from reno_dspy.systems.tagger.model import OnnxNetwork, Tagger
from tests.finetune.training.conftest import Job


class Killed(BaseException):
    """The process ends here."""


class KillingTracker:
    @contextmanager
    def start(self, *args: Any, **kwargs: Any) -> Any:
        class Run(NullRun):
            def metrics(self, values: Mapping[str, float | None], step: int | None = None) -> None:
                if step == 5:
                    raise Killed

        yield Run()


def test_a_killed_training_resumes_to_the_same_file(job: Job, tmp_path: Path) -> None:
    whole = job(tmp_path / "whole")
    with pytest.raises(Killed):
        job(tmp_path / "killed", tracker=KillingTracker())
    resumed = job(tmp_path / "killed")
    assert resumed.adapter.manifest.digest == whole.adapter.manifest.digest
    assert resumed.losses == whole.losses


def test_the_exported_file_scores_as_the_network_does(trained: FinetuneResult) -> None:
    folder = trained.adapter.path
    model = AutoModelForTokenClassification.from_pretrained(folder.parent / "best").eval()
    pieces = Pieces(folder / "tokenizer.json")
    texts = ["Veldt A. Odd birds. J Fict. 2001;3:1-9.", "Marsh B. Fog."]
    windows = [encode(text, pieces, 128).windows[0] for text in texts]
    ids = np.full((2, len(windows[0].ids)), pieces.padding)
    for row, window in zip(ids, windows, strict=True):
        row[: len(window.ids)] = window.ids
    mask = (ids != pieces.padding).astype(np.int32)
    read = np.flatnonzero(mask)
    exported = OnnxNetwork(folder / "model.onnx")(ids, mask, read)
    right = TorchNetwork(model)(ids, mask, read)
    assert np.abs(exported - right).mean() < 0.05 * np.abs(right).mean()
    assert (exported.argmax(1) == right.argmax(1)).mean() > 0.95


def test_a_references_scores_do_not_depend_on_those_beside_it(trained: FinetuneResult) -> None:
    network = OnnxNetwork(trained.adapter.path / "model.onnx")
    one = np.arange(40, 60)[None]
    mask = np.ones((1, 20), dtype=np.int32)
    alone = network(one, mask, np.arange(20))
    rng = np.random.default_rng(0)
    others = rng.integers(4, 1000, (40, 20))
    together = network(
        np.concatenate([one, others]), np.ones((41, 20), dtype=np.int32), np.arange(20)
    )
    assert np.abs(alone - together).max() < 1e-3


def test_a_tagger_learns_its_lessons_and_the_export_keeps_them(trained: FinetuneResult) -> None:
    results = trained.adapter.manifest.results
    assert results["dev"]["recall/surname"] > 80
    assert results["dev_exported"]["recall"] > results["dev"]["recall"] - 5
    assert "| all fields |" in (trained.adapter.path / "README.md").read_text(encoding="utf-8")


def test_texts_of_any_script_and_length_keep_their_characters(trained: FinetuneResult) -> None:
    system = Tagger(trained.adapter.path)
    asyncio.run(system.start())
    texts = ["王小明. 雾. 2001.", "x " * 900, "", "سلام ۱۳۹۹", "a\u200db \u00ad", "\x00"]
    for text, completion in zip(texts, asyncio.run(system.annotate(texts)), strict=True):
        if completion.error:
            assert text == "\x00"
        else:
            assert read(completion.text).well_formed
            assert text_of(parse(completion.text)) == " ".join(text.split())
            assert completion.confidence is not None
            known = [(one.field, one.value) for one in completion.confidence.values]
            leaves = [one for one in parse(completion.text).iterdescendants() if not len(one)]
            assert known == [(leaf.tag, leaf.text) for leaf in leaves]
            chances = [one.probability for one in completion.confidence.values]
            assert all(chance is None or 0 <= chance <= 1 for chance in chances)


def test_an_exported_file_becomes_the_network_again(trained: FinetuneResult) -> None:
    folder = trained.adapter.path
    right = AutoModelForTokenClassification.from_pretrained(folder.parent / "best").eval()
    again = restored(folder / "model.onnx", 0.0).eval()
    ids, mask = np.array([[0, 40, 41, 42, 2]]), np.ones((1, 5), np.int32)
    read = np.arange(5)
    difference = TorchNetwork(again)(ids, mask, read) - TorchNetwork(right)(ids, mask, read)
    assert np.abs(difference).mean() < 0.05 * np.abs(TorchNetwork(right)(ids, mask, read)).mean()


def test_a_damaged_model_is_refused(trained: FinetuneResult, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(trained.adapter.path, folder)
    with open(folder / "model.onnx", "ab") as file:
        file.write(b"x")
    with pytest.raises(InputError, match="Digest mismatch"):
        Tagger(folder)
    (folder / "manifest.json").unlink()
    with pytest.raises(InputError, match=r"manifest\.json"):
        Tagger(folder)
    with pytest.raises(InputError, match="No tagger in"):
        Tagger(tmp_path / "nowhere")


def test_an_encoder_is_needed(job: Job, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"encoder\.layers is 9"):
        job(tmp_path / "run", "encoder.layers=9")
    with pytest.raises(InputError, match="recipe `tagger-smollm2`"):
        job(tmp_path / "other", "base=tiny")


def test_the_command_evaluates_a_tagger_of_ones_own(
    trained: FinetuneResult, pairs: Path, tmp_path: Path
) -> None:
    command = [
        "evaluate", "--system", "tagger", "--adapter", str(trained.adapter.path.parent),
        "--data", str(pairs), "--out", str(tmp_path / "run"), "--no-tracking",
    ]  # fmt: skip
    result = CliRunner().invoke(group, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    shown = " ".join(result.output.split())
    assert "Valid XML 100.0" in shown
    assert "Text kept 100.0" in shown


def corrections(folder: Path, count: int) -> Path:
    """Corrected references whose volume is always called an issue, as nobody annotated before."""
    folder.mkdir()
    lines = []
    for number in range(count):
        text = f"Ojo C. Reeds {number}. Ann Moor. {1900 + number};{number}:5."
        fields = [("surname", "Ojo"), ("article-title", f"Reeds {number}"), ("source", "Ann Moor")]
        fields += [("year", str(1900 + number)), ("issue", f"{number}:"), ("fpage", "5.")]
        spans, at = [], 0
        for name, value in fields:
            start = text.index(value, at)
            at = start + len(value)
            bare = value.rstrip(".:")
            role = "author" if name == "surname" else None
            spans.append({"start": start, "end": start + len(bare), "field": name, "role": role})
        lines.append(
            {"text": text, "spans": spans, "accepted": True, "publication_type": "journal"}
        )
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "corrections.jsonl").write_text(text, encoding="utf-8")
    return folder


def test_a_tagger_goes_on_from_corrections_and_forgets_nothing(
    trained: FinetuneResult, base: Path, pairs: Path, tmp_path: Path
) -> None:
    # All that an installed tagger has: the exported model, without the run's own weights.
    before = tmp_path / "installed"
    shutil.copytree(trained.adapter.path, before)
    # A reference that is corrected, and one that is measured on: neither is rehearsed as it was.
    old = json.loads(pairs.read_text(encoding="utf-8").splitlines()[0])
    mixed = tmp_path / "old.jsonl"
    known = {**old, "plaintext": "Ojo C. Reeds 3. Ann Moor. 1903;3:5.", "citing_article": "x"}
    mixed.write_text(pairs.read_text(encoding="utf-8") + json.dumps(known) + "\n", encoding="utf-8")
    flags = {
        "base": str(base), "data": str(corrections(tmp_path / "corrections", 40)),
        "out": tmp_path / "run", "start_from": before, "rehearsal": str(mixed), "max_steps": 60,
    }  # fmt: skip
    sets = ["max_length=128", "optimizer.learning_rate=3e-3", "encoder.dropout=0",
            "encoder.head_learning_rate=2e-3", "optimizer.batch_size=8", "rehearsal_share=0.4"]  # fmt: skip
    config = resolve(FinetuneConfig, RECIPES / "tagger-corrections.yaml", flags, sets)
    data = load_data(config)
    sources = [row.source for row in data.train.rows]
    assert 0.3 < sources.count("ours") / len(sources) < 0.5
    assert sum("Reeds 3." in (row.plaintext or "") for row in data.train.rows) <= 1
    result = train_encoder(config, data, NullTracker())
    manifest = result.adapter.manifest
    assert manifest.labels == trained.adapter.manifest.labels
    assert manifest.recipe["start_from"] == trained.adapter.name()
    assert result.losses[1] < trained.losses[1] / 2
    system = Tagger(result.adapter.path)
    asyncio.run(system.start())
    for rows in (load(str(tmp_path / "corrections"), "test").rows, load(str(pairs)).rows):
        texts = [row.plaintext or "" for row in rows]
        answers = [values(c.text) for c in asyncio.run(system.annotate(texts))]
        right = [values(row.xml) for row in rows]
        assert sum(a == b for a, b in zip(answers, right, strict=True)) > 0.8 * len(rows)


def values(xml: str) -> Mapping[str, tuple[str, ...]]:
    return read_values(parse(xml), ["surname", "source", "year"])


def test_going_on_needs_a_tagger_of_the_same_base(
    trained: FinetuneResult, job: Job, pairs: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="was trained on"):
        job(
            tmp_path / "run",
            f"start_from={trained.adapter.path.parent}",
            "base=multilingual-e5-small",
        )
    with pytest.raises(InputError, match="rehearsal needs --from"):
        job(tmp_path / "run", f"rehearsal={pairs}")
