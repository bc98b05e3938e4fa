"""`reno optimize` as a user runs it: a served student, MLflow, a test split that must stay shut."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from programs.config import LMSpec, OptimizeConfig
from programs.optimize.subsets import stratified
from programs.prompts import load
from reno_dspy.base.errors import InputError, JobError, RenoError
from reno_dspy.cli.optimize import choose_lms, command
from reno_dspy.cli.prompts import local_prompt
from reno_dspy.data.dataset import Row, save

# MLflow's own models meet a deprecation of SQLAlchemy 2.1 when they are imported.
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy")

RENO = "from reno_dspy.cli.main import main; main()"
REFERENCE = "{name}. Annals of Nowhere. {year};7."
GOLD = (
    "<mixed-citation><surname>{name}</surname>. <source>Annals of Nowhere</source>. "
    "<year>{year}</year>;7.</mixed-citation>"
)


def rows(first: int, count: int) -> list[Row]:
    texts = [{"name": f"Name{n}", "year": 1900 + n} for n in range(first, first + count)]
    return [
        Row(None, REFERENCE.format(**t), GOLD.format(**t), "ore", citing_article_id=t["name"])
        for t in texts
    ]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data set whose test split cannot be read: whoever opens it fails."""
    out = tmp_path / "data"
    save({"train": rows(0, 9), "dev": rows(20, 5), "test": rows(40, 5)}, out, "", {})
    (out / "data" / "test-00000-of-00001.parquet").write_bytes(b"not to be opened")
    return out


@pytest.fixture
def mlruns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    return uri


def answer(body: dict[str, Any]) -> tuple[int, str]:
    """Student and reflection LM of one endpoint: good tags need the word SURNAMES."""
    system, user = body["messages"][0]["content"], body["messages"][-1]["content"]
    if "improve the instructions" in system:
        return 200, "<instructions>Tag SURNAMES and all else.</instructions>"
    name, rest = user.split(". ", 1)
    year = rest.split(";")[0].split(". ")[1]
    gold = GOLD.format(name=name, year=year)
    return 200, gold if "SURNAMES" in system else gold.replace("surname>", "name>")


def write_recipe(folder: Path) -> Path:
    student = folder / "student.yaml"
    student.write_text("name: served\nlm:\n  model: hosted_vllm/m\n")
    recipe = folder / "recipe.yaml"
    recipe.write_text(
        f"student: {student}\nprompt: zero-shot\nmax_metric_calls: 30\n"
        "train_size: 6\ndev_size: 4\nminibatch: 2\nthreads: 2\n"
    )
    return recipe


def of_student(server: Any) -> list[str]:
    """The student's requests, trials aside."""
    every = [json.dumps(body["messages"]) for body in server.requests]
    return [one for one in every if "improve the instructions" not in one]


def invoke(recipe: Path, *options: str) -> Result:
    return CliRunner().invoke(command, [str(recipe), *options], catch_exceptions=False)


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.slow
def test_a_job_killed_between_its_result_and_its_runs_end_is_completed(
    data: Path, mlruns: str, endpoint: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow.tracking import MlflowClient

    from programs.optimize import job

    server = endpoint(answer)
    options = ("--data", str(data), "--out", str(tmp_path / "run"), "--api-base", server.url)
    recipe = write_recipe(tmp_path)

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(job, "log_result", killed)
        with pytest.raises(Killed):
            invoke(recipe, *options)
    paid = len(server.requests)
    result = invoke(recipe, *options)
    assert result.exit_code == 0
    assert "Registered as prompts:/zero-shot/" in result.stderr
    assert len(server.requests) == paid
    client = MlflowClient(mlruns)
    (experiment,) = [e for e in client.search_experiments() if "optimize" in e.name]
    (run,) = client.search_runs(
        [experiment.experiment_id], "tags.job = 'optimize' and tags.`makes.prompt` != ''"
    )
    assert run.info.status == "FINISHED"
    assert run.data.metrics["dev/gain"] > 0
    assert "prompt.json" in {file.path for file in client.list_artifacts(run.info.run_id)}


@pytest.mark.slow
def test_the_whole_command(data: Path, mlruns: str, endpoint: Any, tmp_path: Path) -> None:
    from mlflow.tracking import MlflowClient

    server = endpoint(answer)
    options = ("--data", str(data), "--out", str(tmp_path / "run"), "--api-base", server.url)
    result = invoke(write_recipe(tmp_path), *options)
    assert result.exit_code == 0
    assert "Budget: 30 metric calls: 4 for the seed prompt on dev" in result.stderr
    assert "dev score 0.667 -> 1.000" in result.stdout
    prompt = json.loads((tmp_path / "run" / "prompt.json").read_text())
    assert prompt["instructions"] == "Tag SURNAMES and all else."

    client = MlflowClient(mlruns)
    (experiment,) = [e for e in client.search_experiments() if "optimize" in e.name]
    found = client.search_runs([experiment.experiment_id])
    parents = [run for run in found if "mlflow.parentRunId" not in run.data.tags]
    assert len(parents) == 1
    assert {
        run.data.tags["candidate"]: run.data.metrics["dev/score"]
        for run in found
        if run not in parents
    } == {
        str(row["index"]): pytest.approx(row["score"])
        for row in json.loads((tmp_path / "run" / "candidates.json").read_text())
    }
    assert parents[0].data.metrics["dev/best"] == 1.0
    history = client.get_metric_history(parents[0].info.run_id, "dev/best")
    assert len({metric.step for metric in history}) >= 4

    version = re.search(r"prompts:/zero-shot/\d+", result.stderr)
    assert version
    link = MlflowClient(mlruns).load_prompt(version.group()).tags
    assert link["digest"] == parents[0].data.tags["makes.prompt"]
    with local_prompt(version.group()) as path:
        assert load(str(path)).digest == parents[0].data.tags["makes.prompt"]
    with (
        pytest.raises(InputError, match="No prompt prompts:/zero-shot/99"),
        local_prompt("prompts:/zero-shot/99"),
    ):
        pass

    asked = len(server.requests)
    again = invoke(write_recipe(tmp_path), *options)
    assert again.stdout == result.stdout
    assert len(server.requests) == asked


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130), (signal.SIGTERM, 130)]
)
def test_ended_at_half_it_resumes(
    how: signal.Signals, code: int, data: Path, endpoint: Any, tmp_path: Path
) -> None:
    half, ended = threading.Event(), threading.Event()

    def until_half(body: dict[str, Any]) -> tuple[int, str]:
        if len(server.requests) >= 9:
            half.set()
            ended.wait(60)
            time.sleep(0.5)  # it ends at the signal, not because it is through
        return answer(body)

    server = endpoint(until_half)
    out = tmp_path / "run"
    options = ("--data", str(data), "--out", str(out), "--api-base", server.url, "--no-tracking")
    recipe = write_recipe(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-c", RENO, "optimize", str(recipe), *options],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    while not half.wait(0.1):
        assert process.poll() is None
    process.send_signal(how)
    time.sleep(0.3)  # it is interrupted while requests are under way
    ended.set()
    _, said = process.communicate(timeout=120)
    assert process.returncode == code
    kept = len((out / "answers.jsonl").read_text().splitlines())
    assert kept >= 6
    assert "Traceback" not in said
    if how == signal.SIGINT:  # what was under way is paid for, and kept
        assert kept == len(of_student(server))
        assert said.endswith("Interrupted. What was done is kept: the same command resumes.\n")
    assert not (out / "result.json").exists()
    # Another endpoint: what the ended process had sent may still arrive at the first.
    server = endpoint(answer)
    result = invoke(recipe, *options, "--api-base", server.url)
    assert "1.000" in result.stdout
    students = of_student(server)
    assert len(students) == len(set(students))
    assert len((out / "answers.jsonl").read_text().splitlines()) == kept + len(students)


def test_a_dead_endpoint_is_told_before_the_job(data: Path, mlruns: str, tmp_path: Path) -> None:
    options = ("--data", str(data), "--out", str(tmp_path / "run"))
    with pytest.raises(JobError, match="Nothing answers at"):
        invoke(write_recipe(tmp_path), *options, "--api-base", "http://127.0.0.1:9/v1")


@pytest.mark.parametrize(
    ("mode", "options", "says"),
    [
        ("temperature", (), r"student LM was tried.*temperature: null"),
        ("nomodel", (), r"does not serve hosted_vllm/m.*It serves one, other"),
        (
            "right",
            ("--reflection-lm", "openai/m"),
            r"reflection LM was tried.*openai/m needs a key",
        ),
        (
            "right",
            ("--set", "reflection={model: x, api_key_env: NO_SUCH}"),
            r"\$NO_SUCH, which is not",
        ),
        (
            "right",
            ("--set", "reflection.api_base=http://h/v1"),
            r"^In --set reflection.api_base\S+:\n.*--reflection-lm",
        ),
    ],
)
def test_what_is_wrong_with_an_lm_is_found_before_anything_is_paid(
    mode: str, options: tuple[str, ...], says: str, data: Path, faulty: Any, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    options = ("--data", str(data), "--out", str(out), "--no-tracking", *options)
    with pytest.raises(RenoError, match=says):
        invoke(write_recipe(tmp_path), *options, "--api-base", faulty.url(mode))
    assert len(faulty.requests) <= 1
    assert not (out / "answers.jsonl").exists()


def test_a_local_reflection_lm_takes_two_options(data: Path, endpoint: Any, tmp_path: Path) -> None:
    student, reflection = endpoint(answer), endpoint(answer)
    options = ("--data", str(data), "--out", str(tmp_path / "run"), "--no-tracking")
    result = invoke(write_recipe(tmp_path), *options, "--api-base", student.url,
                    "--reflection-lm", "openai/big", "--set",
                    f"reflection.api_base={reflection.url}")  # fmt: skip
    assert "0.667 -> 1.000" in result.stdout
    assert len(reflection.requests) == len(reflection.requests) - len(of_student(reflection)) > 1
    assert reflection.requests[0]["temperature"] == 1.0
    spent = json.loads((tmp_path / "run" / "result.json").read_text())
    assert spent["reflection"]["prompt_tokens"] == 11 * len(reflection.requests)
    assert spent["reflection"]["calls"] == len(reflection.requests) - 1  # the trial is none
    assert spent["student"]["prompt_tokens"] == 11 * (len(student.requests) + len(student.trials))


def test_a_file_is_split_by_article(endpoint: Any, tmp_path: Path) -> None:
    server, data = endpoint(answer), tmp_path / "rows.jsonl"
    lines = [json.dumps(asdict(row)) for row in rows(0, 40)]
    data.write_text("\n".join([*lines, '{"plaintext": "no annotation"}']))
    options = ("--data", str(data), "--out", str(tmp_path / "run"), "--no-tracking")
    result = invoke(write_recipe(tmp_path), *options, "--api-base", server.url)
    assert "dev score 0.667 -> 1.000" in result.stdout
    assert "1 of 41 rows that cannot be used: row 41 has no text in column `xml`" in result.stderr
    with pytest.raises(InputError, match="measures on the split test"):
        invoke(write_recipe(tmp_path), *options, "--final")
    with pytest.raises(InputError, match="1 of 41 rows"):
        invoke(write_recipe(tmp_path), *options, "--strict-data")


def test_one_article_cannot_be_split(tmp_path: Path) -> None:
    save({"train": rows(0, 1) * 9}, tmp_path / "data", "", {})
    with pytest.raises(InputError, match=r"No row .* for dev .* at least two citing articles"):
        invoke(
            write_recipe(tmp_path), "--data", str(tmp_path / "data"), "--out", str(tmp_path / "o")
        )


def test_samples_keep_their_proportions() -> None:
    def of(source: str, count: int) -> list[Row]:
        return [Row(None, f"{source}{n}", "<a/>", source) for n in range(count)]

    every = [*of("ore", 60), *of("pkp", 30), *of("scielo", 10)]
    chosen = stratified(every, 10, ("source",), 0)
    assert [row.source for row in chosen].count("ore") == 6
    assert [row.source for row in chosen].count("scielo") == 1
    assert chosen == stratified(every, 10, ("source",), 0) != stratified(every, 10, ("source",), 1)
    assert stratified(every, 1000, ("source",), 0) == every
    with pytest.raises(InputError, match="No column 'colour'"):
        stratified(every, 10, ("colour",), 0)


@pytest.mark.slow
def test_final_measures_both_prompts_on_test(endpoint: Any, tmp_path: Path) -> None:
    data = tmp_path / "data"
    save({"train": rows(0, 9), "dev": rows(20, 5), "test": rows(40, 8)}, data, "", {})
    server = endpoint(answer)
    options = ("--data", str(data), "--out", str(tmp_path / "run"), "--api-base", server.url)
    result = invoke(write_recipe(tmp_path), *options, "--no-tracking", "--final")
    assert "Test score 0.667 -> 1.000 over 8 rows (+33.3 points" in result.stdout
    assert result.stdout.endswith("better.\n")
    asked = len(server.requests)
    again = invoke(write_recipe(tmp_path), *options, "--no-tracking", "--final")
    assert again.stdout == result.stdout
    assert len(server.requests) == asked


def test_which_reflection_lm_is_asked() -> None:
    student = LMSpec(model="hosted_vllm/m", api_base="http://h/v1")
    given = {"data": "d", "out": "o", "max_tokens": 64}

    def pair(**options: Any) -> tuple[LMSpec, LMSpec]:
        return choose_lms(OptimizeConfig.model_validate(given | options), student)

    own, reflection = pair()
    assert own.max_tokens == reflection.max_tokens == 64
    assert (own.temperature, reflection.temperature) == (0.0, 1.0)
    assert reflection.api_base == "http://h/v1"
    # Another model is not at the student's endpoint.
    assert pair(reflection_lm="openai/gpt-5")[1] == LMSpec(
        model="openai/gpt-5", temperature=1.0, max_tokens=None
    )
    options = {"model": "hosted_vllm/big", "api_base": "http://other/v1", "max_tokens": 900}
    assert pair(reflection=options)[1] == LMSpec.model_validate(options | {"temperature": 1.0})
    assert pair(reflection=options, reflection_lm="hosted_vllm/x")[1].model == "hosted_vllm/x"
