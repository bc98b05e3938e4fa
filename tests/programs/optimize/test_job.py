"""Whole, real `dspy.GEPA` runs with a scripted student and a scripted reflection LM."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils.exceptions import LMInvalidRequestError, LMTransportError

from programs.annotate import AnnotateReference
from programs.config import Budget, LMSpec, OptimizeConfig
from programs.optimize.answers import Spent
from programs.optimize.budget import Stopper, plan
from programs.optimize.fingerprint import Job, inputs_of
from programs.optimize.job import OptimizeResult, optimize, task_of
from programs.prompts import Prompt, load
from reno_dspy.base.errors import InputError, JobError
from reno_dspy.base.rundir import RunDir
from reno_dspy.base.tracker import NullRun
from reno_dspy.data.dataset import Row

SEED = Prompt(name="seed", instructions="Tag the reference.")
RULES = ("RULE surname", "RULE year", "RULE volume", "RULE source")


def row(number: int) -> Row:
    name, volume, year = f"Name{chr(97 + number % 26)}", str(number + 3), str(1900 + number)
    xml = (
        f"<mixed-citation><surname>{name}</surname>. <source>Annals of Nowhere</source>. "
        f"<year>{year}</year>;<volume>{volume}</volume>.</mixed-citation>"
    )
    text = f"{name}. Annals of Nowhere. {year};{volume}."
    return Row(None, text, xml, "scielo", citing_article_id=f"article-{number}")


TRAIN = [row(number) for number in range(8)]
DEV = [row(number) for number in range(20, 26)]
GOLD = {one.plaintext: one.xml for one in (*TRAIN, *DEV)}


def student_answer(system: str, user: str) -> str:
    """Tags only the fields for which the instructions hold a rule."""
    kept = [rule.split()[1] for rule in RULES if rule in system]
    return re.sub(
        r"</?([a-z]+)>", lambda tag: tag.group() if tag.group(1) in kept else "", GOLD[user]
    ).join(("<mixed-citation>", "</mixed-citation>"))


def reflection_answer(system: str, user: str) -> str:
    """Adds the rule for the first field that the feedback says was missed."""
    current = user.split("THE INSTRUCTIONS:\n")[1].split("\n\nEXAMPLE")[0]
    missed = re.search(r"<([a-z]+)> \"[^\"]+\" was missed", user)
    assert missed
    return f"Sure.\n<instructions>{current}\nRULE {missed.group(1)}</instructions>"


def config(tmp_path: Path, **options: Any) -> OptimizeConfig:
    values = {"data": "d", "out": tmp_path, "max_metric_calls": 60, "minibatch": 2, "threads": 1}
    return OptimizeConfig.model_validate(values | options)


@pytest.fixture
def run_job(scripted: Any, tmp_path: Path) -> Callable[..., OptimizeResult]:
    def run_it(
        student: Callable[[str, str], str] = student_answer,
        reflection: Callable[[str, str], str] = reflection_answer,
        run: Any = None,
        prompt: Prompt = SEED,
        train: list[Row] = TRAIN,
        reflection_lm: dict[str, Any] = {},  # noqa: B006
        **options: Any,
    ) -> OptimizeResult:
        settings = config(tmp_path, **options)
        lms = LMSpec(model="scripted/student"), LMSpec(model="scripted/reflection", **reflection_lm)
        inputs = inputs_of(task_of(settings), prompt, train, DEV, *lms)
        with RunDir.open(
            settings.out, "optimize", settings.identity(), depends_on=inputs
        ) as run_dir:
            made = scripted(student)[0], scripted(reflection)[0]
            job = Job(task_of(settings), settings, prompt, train, DEV, *made)
            return optimize(job, run_dir, run or NullRun())

    return run_it


class RecordingRun(NullRun):
    """Keeps what is logged, children by name."""

    def __init__(self) -> None:
        self.logged: list[tuple[dict[str, Any], int | None]] = []
        self.tagged: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self.children: dict[str, RecordingRun] = {}

    def metrics(self, values: Any, step: int | None = None) -> None:
        self.logged.append((dict(values), step))

    def tags(self, values: Any) -> None:
        self.tagged |= values

    def text(self, text: str, name: str) -> None:
        self.texts[name] = text

    @contextmanager
    def child(self, name: str) -> Any:
        assert name not in self.children
        self.children[name] = RecordingRun()
        yield self.children[name]


def test_gepa_finds_the_improvement(run_job: Any, tmp_path: Path) -> None:
    run = RecordingRun()
    result = run_job(run=run)
    assert result.candidates[0].score == 0.0
    assert result.best.score == 1.0
    assert all(rule in result.best.prompt.instructions for rule in RULES)
    assert load(tmp_path / "prompt.json") == result.best.prompt
    assert result.difference is not None
    assert result.verdict.startswith("Improvement: dev score 0.000 -> 1.000")
    assert "+RULE volume" in (tmp_path / "prompt.diff").read_text()
    assert (tmp_path / "lineage.png").stat().st_size > 1000
    check_tracking(run, json.loads((tmp_path / "candidates.json").read_text()))


def check_tracking(run: RecordingRun, rows: list[dict[str, Any]]) -> None:
    """Every number that is logged agrees with the candidates file."""
    assert len(run.children) == len(rows) > 3
    for candidate in rows:
        child = run.children[f"candidate-{candidate['index']}"]
        (values, _), *_ = child.logged
        assert values["dev/score"] == candidate["score"]
        assert values["metric_calls"] == candidate["metric_calls"]
        assert {f"dev/{k}": v for k, v in candidate["fields"].items()}.items() <= values.items()
        assert child.tagged["prompt_digest"] == candidate["digest"]
        assert Prompt.model_validate_json(child.texts["prompt.json"]).digest == candidate["digest"]
    curve = [
        (step, values["dev/best"])
        for values, step in run.logged
        if values.get("dev/best") is not None
    ]
    assert curve == sorted(curve)
    assert len({step for step, _ in curve}) >= len(rows)
    assert curve[-1][1] == max(candidate["score"] for candidate in rows)


def test_a_finished_job_is_read_back_without_a_call(run_job: Any) -> None:
    result = run_job()

    def refuse(system: str, user: str) -> str:
        raise AssertionError("called")

    assert run_job(student=refuse, reflection=refuse) == result


def test_a_killed_job_resumes_without_paying_twice(
    run_job: Any, scripted: Any, tmp_path: Path
) -> None:
    asked: list[tuple[str, str]] = []

    def dies(system: str, user: str) -> str:
        if len(asked) == 23:
            raise KeyboardInterrupt
        asked.append((system, user))
        return student_answer(system, user)

    def counts(system: str, user: str) -> str:
        asked.append((system, user))
        return student_answer(system, user)

    with pytest.raises(KeyboardInterrupt):
        run_job(student=dies)
    (tmp_path / "gepa" / "gepa.stop").touch()
    result = run_job(student=counts)
    assert result.best.score == 1.0
    assert len(asked) == len(set(asked))
    assert result.student.calls == len(asked)
    assert result.student.completion_tokens == 5 * len(asked)


def test_an_example_twice_in_a_minibatch_is_asked_once(run_job: Any) -> None:
    asked: list[tuple[str, str]] = []

    def slowly(system: str, user: str) -> str:
        asked.append((system, user))
        time.sleep(0.02)
        return student_answer(system, user)

    # Three examples in minibatches of four: GEPA fills each up with one that it has already.
    run_job(student=slowly, train=TRAIN[:3], minibatch=4, threads=4, max_metric_calls=60)
    assert len(asked) == len(set(asked))


def test_a_failing_endpoint_ends_the_job_and_spoils_nothing(run_job: Any) -> None:
    calls = 0

    def breaks(system: str, user: str) -> str:
        nonlocal calls
        calls += 1
        if calls > 20:
            raise LMTransportError("connection refused")
        return student_answer(system, user)

    with pytest.raises(JobError, match=r"cannot be reached.*same command resumes"):
        run_job(student=breaks)
    assert calls == 21
    assert run_job().best.score == 1.0


def test_a_student_that_refuses_every_request_ends_the_job(run_job: Any) -> None:
    asked = []

    def refuses(system: str, user: str) -> str:
        asked.append(user)
        raise LMInvalidRequestError("'temperature' does not support 0.0", status=400)

    with pytest.raises(JobError, match=r"4 of 60 requests failed.*temperature(.|\n)*resumes"):
        run_job(student=refuses, max_errors=0.05)
    assert len(asked) == 4
    assert run_job().best.score == 1.0


def test_a_request_that_is_refused_scores_nothing_and_ends_nothing(
    run_job: Any, tmp_path: Path
) -> None:
    run = RecordingRun()

    def refuses_one(system: str, user: str) -> str:
        if user == DEV[0].plaintext:
            raise LMInvalidRequestError("too long", status=400)
        return student_answer(system, user)

    result = run_job(student=refuses_one, max_errors=1, run=run)
    assert result.best.scores[0] == 0
    assert set(result.best.scores[1:]) == {1.0}
    ((reason, count),) = result.failures.items()
    assert "too long" in reason
    assert count == len(result.candidates)
    assert f"| {reason} | {count} |" in (tmp_path / "report.md").read_text()
    assert run.logged[-1][0]["requests/failed"] == count


def test_the_reflection_lm_learns_from_answers_only(run_job: Any) -> None:
    read = []

    def refuses_half(system: str, user: str) -> str:
        if user in [one.plaintext for one in TRAIN[::2]]:
            raise LMInvalidRequestError("content policy", status=400)
        return student_answer(system, user)

    def reads(system: str, user: str) -> str:
        read.append(user)
        return reflection_answer(system, user) if "was missed" in user else "nothing"

    run_job(student=refuses_half, reflection=reads, max_errors=1)
    assert read
    for one in TRAIN[::2]:
        assert str(one.plaintext) not in str(read)
    assert "answer was empty" not in str(read)


def test_an_empty_answer_is_the_models_own_and_asked_again_by_the_next_session(
    run_job: Any,
) -> None:
    asked, read = [], []

    def silent(system: str, user: str) -> str:
        asked.append((system, user))
        return "" if "RULE" not in system else student_answer(system, user)

    def reads(system: str, user: str) -> str:
        read.append(user)
        return "<instructions>" + " ".join(RULES) + "</instructions>"

    with pytest.raises(JobError, match=r"4 of 60 requests failed.*The answer is empty"):
        run_job(student=silent, max_errors=0.05)
    first = list(asked)
    result = run_job(student=silent, reflection=reads, max_errors=1)
    assert "The answer was empty." in read[0]
    assert result.best.score == 1.0
    again = asked[len(first) :]
    assert set(first) < set(again)
    assert len(again) == len(set(again))


def test_a_proposal_with_half_a_character_ends_nothing(run_job: Any) -> None:
    def odd(system: str, user: str) -> str:
        return "<instructions>\ud83d\ude00 \ud800" + " ".join(RULES) + "</instructions>"

    result = run_job(reflection=odd)
    assert result.best.score == 1.0
    assert result.best.prompt.instructions.startswith("\U0001f600 \ufffd")


def test_thoughts_are_taken_out_and_counted(run_job: Any, tmp_path: Path) -> None:
    def thinks(system: str, user: str) -> str:
        return f"<think>A surname?</think>{student_answer(system, user)}"

    result = run_job(student=thinks)
    assert result.best.score == 1.0
    assert result.thoughts == {"student": result.student.calls, "reflection": 0}
    assert (
        f"taken out: student {result.student.calls}, reflection 0."
        in (tmp_path / "report.md").read_text()
    )


def test_only_proposals_count_for_the_patience(run_job: Any, tmp_path: Path) -> None:
    """Perfect minibatches ask for none; an iteration that is gone through twice asks once."""

    def mostly_right(system: str, user: str) -> str:
        return "<m/>" if user == TRAIN[0].plaintext else GOLD[user]

    asked = []

    def useless(system: str, user: str) -> str:
        asked.append(user)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return "nothing"

    limits = {"budget": {"patience": 3}, "max_metric_calls": 400}
    with pytest.raises(KeyboardInterrupt):
        run_job(student=mostly_right, reflection=useless, **limits)
    result = run_job(student=mostly_right, reflection=useless, **limits)
    assert "3 proposals without" in result.stopped_by
    assert sum(result.proposals.values()) == 3
    assert len(asked) == 4
    rows = [json.loads(line) for line in (tmp_path / "reflections.jsonl").read_text().splitlines()]
    assert len({row["iteration"] for row in rows}) == 3


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("I would write clearer instructions.", "no instructions in the answer"),
        ("<instructions> </instructions>", "empty"),
        ("<instructions>" + "x" * 5000 + "</instructions>", "longer than 4000 characters"),
        ("<instructions>Tag the reference.</instructions>", "unchanged"),
        ("<instructions>Tag the reference and…", "cut off by the longest answer"),
    ],
)
def test_unusable_proposals_are_data(answer: str, reason: str, run_job: Any) -> None:
    result = run_job(reflection=lambda system, user: answer, max_metric_calls=20)
    assert result.best.prompt == SEED
    assert set(result.proposals) == {reason}
    assert result.proposals[reason] >= 2
    assert result.verdict.startswith("No improvement")
    assert "--reflection-lm" in result.verdict


def test_a_reflection_lm_that_is_down_ends_the_job(run_job: Any) -> None:
    def down(system: str, user: str) -> str:
        raise LMTransportError("connection refused")

    with pytest.raises(JobError, match="reflection LM failed"):
        run_job(reflection=down)


def test_another_job_is_refused_and_named(run_job: Any) -> None:
    run_job(max_metric_calls=30)
    with pytest.raises(InputError, match="prompt_digest: "):
        run_job(max_metric_calls=30, prompt=Prompt(name="seed", instructions="Else."))
    with pytest.raises(InputError, match="train_digest: "):
        run_job(max_metric_calls=30, train=TRAIN[:-1])
    with pytest.raises(InputError, match=r"objective\.fidelity: 0\.0 -> 1\.0"):
        run_job(max_metric_calls=30, objective={"fidelity": 1.0})
    with pytest.raises(InputError, match=r"reflection_identity\.seed: None -> 1"):
        run_job(max_metric_calls=30, reflection_lm={"seed": 1})
    # Where an LM is served and how long it may take makes no other job.
    moved = {"api_base": "http://127.0.0.1:1/v1", "timeout": 5}
    run_job(max_metric_calls=30, threads=4, reflection_lm=moved)


def test_a_budget_for_one_proposal_is_refused(run_job: Any) -> None:
    with pytest.raises(InputError, match="--max-metric-calls 17"):
        run_job(max_metric_calls=16)
    assert plan(17, 6, 2, 2).at_least == 2


@pytest.mark.parametrize(
    ("limits", "reason"),
    [({"max_tokens": 200}, "200 tokens"), ({"patience": 1}, "1 proposals without")],
)
def test_other_limits_end_the_job(limits: dict[str, int], reason: str, run_job: Any) -> None:
    result = run_job(reflection=lambda system, user: "nothing", budget=limits)
    assert reason in result.stopped_by
    assert result.metric_calls < 60


def test_a_limit_on_unknown_costs_is_refused(run_job: Any) -> None:
    with pytest.raises(JobError, match="price of an LM is not known"):
        run_job(budget={"max_cost": 1.0})


def test_a_limit_on_costs_needs_the_price_of_both_lms() -> None:
    student, reflection = Spent(9, 900, 90, 0.01), Spent(3, 300, 30, None)
    budget = Budget(max_cost=1.0, patience=None)
    with pytest.raises(JobError, match="price of an LM is not known"):
        Stopper(budget, lambda: (student, reflection), lambda _: 0)(None)
    failed = Spent(1, None, None, None)  # A request that failed costs nothing.
    assert not Stopper(budget, lambda: (student, failed), lambda _: 0)(None)


def test_the_optimized_prompt_is_what_the_program_then_sends(run_job: Any, scripted: Any) -> None:
    from programs.chat_format import PlainAdapter, render_messages

    best = run_job().best.prompt
    lm, engine = scripted(lambda system, user: "x")
    with dspy.context(lm=lm, adapter=PlainAdapter()):
        AnnotateReference(best)(reference="R.")
    assert engine.requests == [render_messages(best, "R.")]
