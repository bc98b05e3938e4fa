"""A system on several workers is the same system."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from reno_dspy.annotate.review import threshold_for
from reno_dspy.base.errors import InputError
from reno_dspy.base.tracker import NullTracker
from reno_dspy.data.dataset import Dataset, Row
from reno_dspy.measure.job import EvaluateConfig, evaluate
from reno_dspy.systems import Completion
from reno_dspy.systems.crf.model import SHIPPED, Crf
from reno_dspy.systems.options import SystemOptions
from reno_dspy.systems.registry import open_system
from reno_dspy.systems.workers import OnWorkers, _opened

REFERENCES = [f"Ito K. Foxes {n}. J Fict Zool. {2000 + n};{n}(3):200-9." for n in range(9)]


def test_evaluations_agree(tmp_path: Path) -> None:
    rows = tuple(Row(None, text, "<m><year>2001</year></m>", "ore") for text in REFERENCES)
    data = Dataset(rows, "toy", "toy.jsonl", None)
    predictions = {}
    for workers in (1, 2):
        out = tmp_path / str(workers)
        config = EvaluateConfig(system="crf", data="toy.jsonl", out=out, workers=workers)
        with open_system(config, tmp_path / "log") as system:
            assert isinstance(system, OnWorkers) == (workers > 1)
            assert threshold_for(0.9, system)
            evaluate(config, system, data, NullTracker())
        lines = (out / "predictions.jsonl").read_text().splitlines()
        predictions[workers] = [json.loads(line) | {"latency_s": None} for line in lines]
    assert predictions[1] == predictions[2]
    assert predictions[1][0]["prediction"]


def test_files_are_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers get whole paths, since those of a cluster have working directories of their own."""
    (tmp_path / "mine.crfsuite").write_bytes(SHIPPED.read_bytes())
    monkeypatch.chdir(tmp_path)
    options = SystemOptions(system="mine.crfsuite", workers=2)
    with open_system(options, tmp_path / "log") as system:
        monkeypatch.chdir("/")
        found = asyncio.run(_first(system))
        assert getattr(system, "calibration", 0) is None  # a model of one's own has none yet
    assert "<year>2000</year>" in found.text
    assert found.error is None


async def _first(system: OnWorkers | Crf) -> Completion:
    await system.start()
    return (await system.annotate(REFERENCES[:1]))[0]


def test_a_worker_with_another_model_is_refused() -> None:
    with pytest.raises(InputError, match="crf is another model"):
        _opened(SystemOptions(system="crf"), (("model", "crf"), ("model_digest", "0" * 16)))


def test_workers_are_for_systems_of_this_program_and_requests_for_servers() -> None:
    with pytest.raises(ValueError, match="leave out --concurrency"):
        SystemOptions(system="crf", workers=2, concurrency=2)
    with pytest.raises(ValueError, match="--concurrency says how many requests"):
        SystemOptions(system="grobid", workers=2)
