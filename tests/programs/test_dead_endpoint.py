"""An endpoint that dies after its first answer costs every job twenty failures and what is under way."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from programs.annotate import LMSystem
from programs.config import LMSpec
from programs.describe import LMDescriber
from programs.prompts import load
from reno_dspy.annotate.job import AnnotateConfig, annotate
from reno_dspy.base.errors import JobError
from reno_dspy.base.failures import IN_A_ROW
from reno_dspy.base.tracker import NullTracker
from reno_dspy.build.config import BuildConfig
from reno_dspy.build.job import build
from reno_dspy.data.dataset import Dataset, Row
from reno_dspy.measure.job import EvaluateConfig, evaluate
from tests.programs.conftest import Endpoint

ROWS = 10_000
AT_ONCE = 4
FIRST = 1


@pytest.fixture
def dying(endpoint: Callable[..., Endpoint]) -> Endpoint:
    """Answers once, then ends every connection."""

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        return (200, "<mixed-citation/>") if len(server.requests) <= FIRST else (0, None)

    server = endpoint(answer)
    return server


def spec(server: Endpoint) -> LMSpec:
    return LMSpec(model="openai/m", api_base=server.url, num_retries=0)


def evaluation(server: Endpoint, corpus: Path, out: Path) -> None:
    rows = tuple(Row(None, f"Ito K. Foxes {i}.", "<m/>", "ore", id=str(i)) for i in range(ROWS))
    system = LMSystem("lm", spec(server), load("zero-shot"), AT_ONCE)
    config = EvaluateConfig(system="lm", data="d", out=out)
    evaluate(config, system, Dataset(rows, "d", "d", None), NullTracker())


def annotation(server: Endpoint, corpus: Path, out: Path) -> None:
    system = LMSystem("lm", spec(server), load("zero-shot"), AT_ONCE)
    config = AnnotateConfig(input="-", out=out / "refs.xml", system="lm")
    annotate(config, system, (f"Ito K. Foxes {i}." for i in range(ROWS)), total=ROWS)


def lm_build(server: Endpoint, corpus: Path, out: Path) -> None:
    config = BuildConfig(corpus=corpus, out=out, workers=1, describer="lm", concurrency=AT_ONCE)
    build(config, NullTracker(), describer=LMDescriber(spec(server)))


@pytest.mark.parametrize("job", [evaluation, annotation, lm_build])
def test_a_dead_endpoint_costs_twenty_failures(
    job: Callable[[Endpoint, Path, Path], None], dying: Endpoint, corpus: Path, tmp_path: Path
) -> None:
    with pytest.raises(JobError) as caught:
        job(dying, corpus, tmp_path / "out")
    assert f"{IN_A_ROW} " in str(caught.value)
    assert "in a row failed. The last reason: " in str(caught.value)
    assert "resumes" in str(caught.value)
    # Three more were under way when it died, three when the twentieth failure came.
    assert FIRST + IN_A_ROW <= len(dying.requests) <= FIRST + IN_A_ROW + 2 * (AT_ONCE - 1)


def test_the_answers_before_the_end_are_kept(dying: Endpoint, corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(JobError):
        evaluation(dying, corpus, tmp_path)
    lines = (tmp_path / "predictions.jsonl").read_text().splitlines()
    kept = [json.loads(line) for line in lines]
    assert [row["prediction"] for row in kept if row["error"] is None] == ["<mixed-citation/>"]
