"""Small pairs of our own, and tiny adapters trained on them once a session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from finetune.recipe import RECIPES, FinetuneConfig
from finetune.training.data import load_data
from finetune.training.loop import FinetuneResult
from finetune.training.sft import finetune
from reno_dspy.base.config import resolve
from reno_dspy.base.tracker import NullTracker, Tracker

_TITLES = (
    "On glass bees",
    "A map of fog",
    "Salt & light",
    "Paper tides",
    "Moss clocks",
    "Odd birds",
)


@pytest.fixture(scope="session")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty-four pairs from eight citing articles, as JSON lines."""
    path = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    records = []
    for number in range(24):
        title, year = f"{_TITLES[number % 6]}, part {number}", 1980 + number
        written = title.replace("&", "&amp;")
        records.append(
            {
                "id": f"r{number}",
                "citing_article": f"10.5555/a{number % 8}",
                "plaintext": f"Veldt A, Marsh B. {title}. J Fict. {year};{number}(2):1-9.",
                "xml": (
                    "<element-citation><surname>Veldt</surname><given-names>A</given-names>"
                    "<surname>Marsh</surname><given-names>B</given-names>"
                    f"<article-title>{written}</article-title><source>J Fict</source>"
                    f"<year>{year}</year><volume>{number}</volume></element-citation>"
                ),
                "source": "ours",
                "licence": "CC0" if number % 2 else "CC BY 4.0",
            }
        )
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    return path


class TinyJob:
    """The recipe `tiny` on our pairs, eight steps of it."""

    def __init__(self, pairs: Path) -> None:
        self.pairs = pairs

    def config(self, out: Path, **flags: object) -> FinetuneConfig:
        """The configuration that trains into `out`."""
        chosen = {"data": str(self.pairs), "out": out, "max_steps": 8, **flags}
        # Three steps an epoch, so that a run can be killed in its second one.
        return resolve(FinetuneConfig, RECIPES / "tiny.yaml", chosen, ["optimizer.batch_size=8"])

    def __call__(
        self, out: Path, tracker: Tracker | None = None, **flags: object
    ) -> FinetuneResult:
        """Train that, or resume it."""
        config = self.config(out, **flags)
        return finetune(config, load_data(config), tracker or NullTracker())


@pytest.fixture(scope="session")
def tiny_job(pairs: Path) -> TinyJob:
    return TinyJob(pairs)


@pytest.fixture(scope="session")
def tiny_runs(
    tiny_job: TinyJob, tmp_path_factory: pytest.TempPathFactory
) -> tuple[FinetuneResult, FinetuneResult]:
    """Two adapters of different seeds, trained without interruption."""
    folder = tmp_path_factory.mktemp("tiny")
    return tiny_job(folder / "a", seed=0), tiny_job(folder / "b", seed=1)
