"""Every job that keeps a directory: one process at a time, and never old results for new data."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from finetune.recipe import FinetuneConfig
from programs.config import OptimizeConfig
from reno_dspy.annotate.job import AnnotateConfig
from reno_dspy.base.config import Config
from reno_dspy.base.errors import InputError
from reno_dspy.base.lock import locked
from reno_dspy.base.tracker import NullTracker
from reno_dspy.build.config import BuildConfig
from reno_dspy.cli.main import group
from reno_dspy.data.dataset import Row, save
from reno_dspy.fetch.config import FetchConfig
from reno_dspy.measure.job import EvaluateConfig
from reno_dspy.measure.review.sample import draw, export
from reno_dspy.measure.review.verdicts import keep_review
from reno_dspy.systems.crf.training import TrainCrfConfig

CONFIGS = (
    AnnotateConfig, BuildConfig, EvaluateConfig, FetchConfig, FinetuneConfig, OptimizeConfig,
    TrainCrfConfig,
)  # fmt: skip


@dataclass
class Job:
    """`run` starts it, with further arguments, and gives what it said; `change` changes its data."""

    run: Callable[..., str]
    change: Callable[[], object]
    lock: Path


def row(number: int) -> Row:
    """Gold calls the volume an issue, so that every reading of it has a wrong value to review."""
    text = f"Ito K. Foxes {number}. J Fict Zool. {1990 + number};{number}:1-9."
    xml = (
        f"<mixed-citation><surname>Ito</surname> <given-names>K</given-names>. <article-title>Foxes "
        f"{number}</article-title>. <source>J Fict Zool</source>. <year>{1990 + number}</year>;"
        f"<issue>{number}</issue>:<fpage>1</fpage>-<lpage>9</lpage>.</mixed-citation>"
    )
    return Row(None, text, xml, "ore", id=str(number), citing_article_id=f"a{number % 7}")


def write_rows(path: Path, first: int = 0) -> Path:
    lines = [
        json.dumps({"plaintext": one.plaintext, "xml": one.xml, "citing_article_id": one.cluster})
        for one in map(row, range(first, first + 20))
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def command(*arguments: object) -> Callable[..., str]:
    def run(*more: str) -> str:
        result = CliRunner().invoke(group, [*map(str, arguments), *more])
        return result.output + (str(result.exception) if result.exception else "")

    return run


def evaluation(folder: Path) -> Job:
    data, out = write_rows(folder / "d.jsonl"), folder / "out"
    run = command("evaluate", "--system", "crf", "--data", data, "--out", out, "--no-tracking")
    return Job(run, lambda: write_rows(data, 5), out / ".lock")


def crf_training(folder: Path) -> Job:
    data, out = write_rows(folder / "d.jsonl"), folder / "out"
    small = ("--iterations", 2, "--min-spans", 1, "--no-tracking")
    run = command("train-crf", "--data", data, "--out", out, *small)
    return Job(run, lambda: write_rows(data, 5), out / ".lock")


def crf_training_with_another_test(folder: Path) -> Job:
    data, test, out = write_rows(folder / "d.jsonl"), write_rows(folder / "t.jsonl"), folder / "out"
    small = ("--iterations", 2, "--min-spans", 1, "--no-tracking")
    run = command("train-crf", "--data", data, "--test", test, "--out", out, *small)
    return Job(run, lambda: write_rows(test, 5), out / ".lock")


def fine_tuning(folder: Path, recipe: str = "tiny") -> Job:
    """One that opens its directory and then finds that no row has the licence."""
    data, out = write_rows(folder / "d.jsonl"), folder / "out"
    options = ("--base", "tiny", "--set", "licences=[none]", "--no-tracking")
    run = command("finetune", recipe, "--data", data, "--out", out, *options)
    return Job(run, lambda: write_rows(data, 5), out / ".lock")


def tagger_training(folder: Path) -> Job:
    return fine_tuning(folder, "tagger-smollm2")


def optimization(folder: Path) -> Job:
    """One whose endpoint is dead."""

    def write(first: int) -> None:
        splits = {"train": [row(n) for n in range(9)], "dev": [row(n + first) for n in range(9)]}
        save(splits, data, "", {})

    data, out, student = folder / "data", folder / "out", folder / "student.yaml"
    write(10)
    student.write_text("name: s\nlm: {model: openai/m, api_base: 'http://127.0.0.1:9/v1'}\n")
    sizes = ("--train-size", 9, "--dev-size", 9, "--no-tracking")
    run = command("optimize", "light", "--student", student, "--data", data, "--out", out, *sizes)
    return Job(run, lambda: write(30), out / ".lock")


def building(folder: Path) -> Job:
    examples, corpus, out = Path("examples/corpus").resolve(), folder / "corpus", folder / "out"
    corpus.mkdir()
    for name in ("ore-en-01.pdf", "ore-en-01.xml"):
        shutil.copy(examples / name, corpus)

    def change() -> None:
        article = corpus / "ore-en-01.xml"
        article.write_text(article.read_text("utf-8").replace("<year>20", "<year>19"), "utf-8")

    run = command("build", corpus, "--out", out, "--workers", 1, "--no-tracking")
    return Job(run, change, out / ".lock")


def review(folder: Path) -> Job:
    """The import of verdicts on an evaluation that is then made anew with another system."""
    evaluated = evaluation(folder)
    evaluated.run()
    report = folder / "out" / "report.json"
    records = folder / "out" / "predictions.jsonl"
    records.write_text(records.read_text("utf-8").replace("<year>19", "<year>18"), "utf-8")
    table, _ = export(draw(folder / "out", 4), folder / "review")

    def run(*more: str) -> str:
        try:
            if "--fresh" in more:
                shutil.rmtree(folder / "out" / "reviews")
            return str(keep_review(table, folder / "out", None, NullTracker()))
        except InputError as error:
            return str(error)

    def change() -> None:
        report.write_text(report.read_text("utf-8").replace('"model": "crf"', '"model": "x"'))

    run()
    (sample,) = (folder / "out" / "reviews").iterdir()
    return Job(run, change, sample / ".lock")


JOBS = [
    evaluation, crf_training, crf_training_with_another_test, fine_tuning, tagger_training,
    optimization, building, review,
]  # fmt: skip


@pytest.mark.parametrize("make", JOBS)
def test_a_job_is_alone_resumes_and_refuses_changed_data(
    make: Callable[[Path], Job], tmp_path: Path
) -> None:
    job = make(tmp_path)
    first = job.run()
    with locked(job.lock, str(job.lock.parent)):
        refused = job.run()
    assert f"{job.lock.parent} is in use by process {os.getpid()}" in refused
    assert job.run().splitlines()[-1] == first.splitlines()[-1]
    job.change()
    refused = job.run()
    assert f"{job.lock.parent} was made from something else:\n" in refused
    assert "to start over, " in refused
    assert "something else" not in job.run("--fresh")
    assert "something else" not in job.run()


def test_other_jobs_are_alone_too(tmp_path: Path) -> None:
    """Of these none takes an earlier result for another: each file or table is made anew."""
    references = write_rows(tmp_path / "d.jsonl")
    jobs = {
        tmp_path / ".refs.xml.lock": ("annotate", references, "--system", "crf", "--out",
                                      tmp_path / "refs.xml"),
        tmp_path / "fetched" / ".lock": ("fetch", "--platform", "ore", "--out", tmp_path / "fetched",
                                         "--contact", "a@example.org", "--no-tracking"),
    }  # fmt: skip
    evaluation(tmp_path).run()
    jobs[tmp_path / "compared" / ".lock"] = (
        "compare", tmp_path / "out", "--out", tmp_path / "compared", "--no-tracking"
    )  # fmt: skip
    jobs[tmp_path / "review" / ".lock"] = (
        "review", "export", tmp_path / "out", "--out", tmp_path / "review"
    )  # fmt: skip
    for lock, arguments in jobs.items():
        lock.parent.mkdir(exist_ok=True)
        with locked(lock, "It"):
            assert f" is in use by process {os.getpid()} on " in command(*arguments)(), arguments


@pytest.mark.parametrize("config", CONFIGS)
def test_where_a_job_writes_makes_no_other_job(config: type[Config]) -> None:
    field = config.model_fields["out"]
    assert any(type(mark).__name__ == "_FreeMark" for mark in field.metadata)
