"""Optimizing the extraction: chunks of a build, the metric, a whole GEPA run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from programs.config import OptimizeConfig
from programs.optimize.chunks import Chunk, load_chunks
from programs.optimize.extraction_feedback import make_extraction_metric
from programs.optimize.fingerprint import Job
from programs.optimize.job import optimize, task_of
from programs.prompts import load
from reno_dspy.base.errors import InputError
from reno_dspy.base.rundir import RunDir
from reno_dspy.base.tracker import NullRun
from reno_dspy.data.dataset import Row, save

FIRST = (
    "1. Ferrand L, Quill A. Paper boats and their tidal memory. J Imag Hydrol. 2014;12(3):45-52."
)
SECOND = "2. Mourao T. Cartography of motionless winds. Porto Velario: Mare; 2009. 210 p."
CHUNK = "\n".join(
    line.replace(". J", ".\nJ").replace("motion", "motion-\n") for line in (FIRST, SECOND)
)


def score(found: Any) -> dspy.Prediction:
    example = dspy.Example(chunk=CHUNK, gold=(FIRST, SECOND)).with_inputs("chunk")
    return make_extraction_metric()(example, dspy.Prediction(references=found))


def test_everything_found_is_perfect() -> None:
    assert score([FIRST, SECOND]).score == 1.0


def test_what_went_wrong_is_named() -> None:
    result = score([FIRST[:-12], "3. Nobody N. A reference that is made up. 1999."])
    assert 0 < result.score < 0.5
    assert result.objective_scores["verbatim"] == 0.5
    assert 'Missed: "2. Mourao' in result.feedback
    assert "it is shorter than the reference" in result.feedback
    assert 'Not in the text: "3. Nobody' in result.feedback


def test_two_references_in_one_line_are_told_to_be_too_long() -> None:
    assert "it is longer than the reference" in score([f"{FIRST} {SECOND}"]).feedback


@settings(max_examples=60, deadline=None)
@given(st.one_of(st.none(), st.text(), st.lists(st.one_of(st.text(), st.integers()), max_size=4)))
def test_it_never_raises(found: Any) -> None:
    result = score(found)
    assert 0 <= result.score <= 1
    assert len(result.feedback) <= 900


def build(folder: Path) -> Path:
    """What `reno build` leaves: rows by split, and its stages."""
    names = [f"article-{n}" for n in range(8)]
    pairs = {name: [FIRST.replace("45", str(n)), SECOND] for n, name in enumerate(names)}
    rows = [Row(None, FIRST, "<a><year>1</year></a>", "ore", citing_article_id=n) for n in names]
    save({"train": rows[:4], "dev": rows[4:7], "test": rows[7:]}, folder, "", {})
    (folder / "data" / "test-00000-of-00001.parquet").write_bytes(b"not to be opened")
    (folder / "stages").mkdir()
    for stage, record in (
        ("convert", lambda n: {"markdown": "Text.\n\n## References\n\n" + "\n".join(pairs[n])}),
        ("match", lambda n: {"pairs": [{"plaintext": one} for one in pairs[n]]}),
    ):
        lines = [json.dumps({"id": name, "error": None} | record(name)) for name in names]
        (folder / "stages" / f"{stage}.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def test_chunks_are_those_of_the_split(tmp_path: Path) -> None:
    data = str(build(tmp_path / "data"))
    train, dev = load_chunks(data, "train", 10, 0), load_chunks(data, "dev", 2, 0)
    assert {chunk.article for chunk in train.items} == {f"article-{n}" for n in range(4)}
    assert len(dev.items) == dev.ref.rows == 2
    assert all(len(chunk.references) == 2 for chunk in train.items)
    assert train.ref.digest != dev.ref.digest


def test_data_without_stages_are_refused(tmp_path: Path) -> None:
    save({"train": [Row(None, FIRST, "<a/>", "ore")]}, tmp_path, "", {})
    with pytest.raises(InputError, match="takes a data set of `reno build`"):
        load_chunks(str(tmp_path), "train", 5, 0)


def test_gepa_finds_better_instructions_for_the_extraction(scripted: Any, tmp_path: Path) -> None:
    data = str(build(tmp_path / "data"))
    train, dev = (load_chunks(data, split, 10, 0).items for split in ("train", "dev"))
    by_text = {chunk.text: chunk for chunk in (*train, *dev)}

    def student(system: str, user: str) -> str:
        chunk: Chunk = by_text[user]
        return "\n".join(chunk.references if "EVERY" in system else chunk.references[:1])

    def reflection(system: str, user: str) -> str:
        assert "Missed" in user
        return "<instructions>List EVERY reference.</instructions>"

    options = {"data": data, "out": tmp_path / "run", "program": "extract", "prompt": "extract"}
    config = OptimizeConfig.model_validate(
        options | {"max_metric_calls": 20, "minibatch": 2, "threads": 1}
    )
    lms = scripted(student)[0], scripted(reflection)[0]
    job = Job(task_of(config), config, load("extract"), train, dev, *lms)
    result = optimize(job, RunDir(tmp_path / "run"), NullRun())
    assert result.candidates[0].score == pytest.approx(0.5)
    assert result.best.score == 1.0
    assert result.best.fields == {"recall": 1.0, "verbatim": 1.0}
    assert load(tmp_path / "run" / "prompt.json").instructions == "List EVERY reference."
