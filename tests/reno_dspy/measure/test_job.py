"""Running a system over data: answers kept as they come, resumed, scored the same every time."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reno_dspy.base.errors import InputError, JobError
from reno_dspy.base.tracker import NullRun, NullTracker
from reno_dspy.data.dataset import Dataset, Row
from reno_dspy.measure.job import EvaluateConfig, evaluate
from reno_dspy.measure.report import make_report
from reno_dspy.systems import Completion


def rows(count: int) -> list[Row]:
    return [
        Row(
            f"10.5555/{i % 4}", f"Ito K. Foxes {i}. {2000 + i}.",
            f"<m><surname>Ito</surname> <article-title>Foxes {i}</article-title>. "
            f"<year>{2000 + i}</year></m>",
            ["ore", "pkp"][i % 2], id=str(i), language="en",
        )
        for i in range(count)
    ]  # fmt: skip


class Echo:
    """Answers every reference with its gold, the year left out for each third."""

    name = "echo"
    batch_size = 1
    concurrency = 4

    def __init__(
        self, data: Dataset, fail: frozenset[int] = frozenset(), die_after: int = 10**9
    ) -> None:
        self.gold = {row.plaintext: row for row in data.rows}
        self.fail, self.die_after, self.calls, self.starts = fail, die_after, 0, 0

    def identity(self) -> Mapping[str, str]:
        return {"model": "echo", "prompt_digest": "p1"}

    async def start(self) -> None:
        self.starts += 1

    async def annotate(self, references: Sequence[str]) -> list[Completion]:
        await asyncio.sleep(0)
        return [self._one(reference) for reference in references]

    def _one(self, reference: str) -> Completion:
        self.calls += 1
        if self.calls > self.die_after:
            raise KeyboardInterrupt
        row = self.gold[reference]
        number = int(row.id or 0)
        if number in self.fail:
            return Completion("", error="HTTP 500")
        xml = row.xml if number % 3 else row.xml.replace("year>", "volume>")
        return Completion(xml, finish_reason="stop", prompt_tokens=5, completion_tokens=7)


def dataset(count: int = 24) -> Dataset:
    return Dataset(tuple(rows(count)), "toy", "toy.jsonl", None)


def config(out: Path, **options: Any) -> EvaluateConfig:
    return EvaluateConfig(system="echo", data="toy.jsonl", out=out, **options)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_report_counts_what_was_answered(tmp_path: Path) -> None:
    data = dataset()
    report = evaluate(config(tmp_path), Echo(data), data, NullTracker())
    assert (report.n, report.share("valid_xml"), report.errors, report.clusters) == (
        24,
        100.0,
        0,
        4,
    )
    assert report.fields["year"].value("recall_lenient") == pytest.approx(100 * 16 / 24, abs=1e-3)
    assert report.fields["surname"].value("recall_strict") == 100.0
    assert report.fields["issue"].value("recall_lenient") is None
    assert report.completion_tokens == 24 * 7
    low, high = report.fields["year"].measures["recall_lenient"].ends or (0, 0)
    assert low <= 66.6667 <= high
    ore = report.slices["source"]["ore"]
    year = ore.recall["year"]
    low, high = year.ends or (0, 0)
    assert (ore.n, ore.recall["issue"].ends) == (12, None)
    assert low <= (year.value or 0) <= high
    written = json.loads((tmp_path / "report.json").read_text())
    assert written["fields"]["year"]["gold"] == 24
    assert [r["index"] for r in read(tmp_path / "predictions.jsonl")] == list(range(24))


def test_an_interrupted_run_resumes_and_scores_the_same(tmp_path: Path) -> None:
    data = dataset()
    evaluate(config(tmp_path / "whole"), Echo(data), data, NullTracker())
    with pytest.raises(KeyboardInterrupt):
        evaluate(config(tmp_path / "cut"), Echo(data, die_after=9), data, NullTracker())
    assert not (tmp_path / "cut" / "report.json").exists()
    again = Echo(data)
    evaluate(config(tmp_path / "cut"), again, data, NullTracker())
    assert again.calls == 24 - 9
    for name in ("report.json", "citations.csv"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_seconds_of_a_resumed_run_add_up(tmp_path: Path) -> None:
    class Recording(NullRun):
        seconds: float | None = None

        def metrics(self, values: Mapping[str, float | None], step: int | None = None) -> None:
            self.seconds = values.get("seconds", self.seconds)

    class OneRun(NullTracker):
        @contextmanager
        def start(self, *args: Any, **options: Any) -> Iterator[Recording]:
            yield run

    data, run = dataset(), Recording()
    with pytest.raises(KeyboardInterrupt):
        evaluate(config(tmp_path), Echo(data, die_after=9), data, OneRun())
    first = run.seconds
    evaluate(config(tmp_path), Echo(data), data, OneRun())
    sessions = [row["seconds"] for row in read(tmp_path / "sessions.jsonl") if "seconds" in row]
    assert first == sessions[0] > 0
    assert run.seconds == sum(sessions) > first
    assert len(sessions) == 2


def test_a_killed_session_counts_until_its_last_answer(tmp_path: Path) -> None:
    data = dataset()
    with pytest.raises(KeyboardInterrupt):
        evaluate(config(tmp_path), Echo(data, die_after=9), data, NullTracker())
    log = tmp_path / "sessions.jsonl"
    started = (tmp_path / "predictions.jsonl").stat().st_mtime - 100
    log.write_text(json.dumps({"started": started}) + "\n")
    evaluate(config(tmp_path), Echo(data), data, NullTracker())
    seconds = [row["seconds"] for row in read(log) if "seconds" in row]
    assert seconds[0] == pytest.approx(100)
    assert len(seconds) == 2


def test_token_counts_that_nobody_told_stay_unknown(tmp_path: Path) -> None:
    class Silent(Echo):
        def _one(self, reference: str) -> Completion:
            return replace(super()._one(reference), prompt_tokens=None)

    data = dataset()
    report = evaluate(config(tmp_path), Silent(data), data, NullTracker())
    assert (report.prompt_tokens, report.completion_tokens) == (None, 24 * 7)
    assert report.to_metrics()["tokens/prompt"] is None


def test_a_finished_run_calls_nothing(tmp_path: Path) -> None:
    data = dataset()
    evaluate(config(tmp_path), Echo(data), data, NullTracker())
    again = Echo(data)
    evaluate(config(tmp_path), again, data, NullTracker())
    assert (again.calls, again.starts) == (0, 0)


def test_a_system_that_does_not_start_costs_nothing(tmp_path: Path) -> None:
    class Broken(Echo):
        async def start(self) -> None:
            raise JobError("Nothing answers there.")

    data = dataset()
    broken = Broken(data)
    with pytest.raises(JobError, match="Nothing answers"):
        evaluate(config(tmp_path), broken, data, NullTracker())
    assert broken.calls == 0
    assert evaluate(config(tmp_path), Echo(data), data, NullTracker()).n == 24


def test_a_log_that_somebody_changed_is_named(tmp_path: Path) -> None:
    data = dataset()
    evaluate(config(tmp_path), Echo(data), data, NullTracker())
    (tmp_path / "predictions.jsonl").write_text('{"index": 3}\n')
    with pytest.raises(InputError, match=r"predictions\.jsonl has a line without"):
        evaluate(config(tmp_path), Echo(data), data, NullTracker())


def test_other_fields_of_a_finished_run_cost_no_answer(tmp_path: Path) -> None:
    data = dataset()
    before = evaluate(config(tmp_path), Echo(data), data, NullTracker())
    again = Echo(data)
    after = evaluate(config(tmp_path, fields="all"), again, data, NullTracker())
    assert (again.calls, "chapter-title" in after.fields) == (0, True)
    assert after.overall == before.overall
    written = json.loads((tmp_path / "report.json").read_text())
    assert "publication-type" in written["fields"]


def test_failures_are_empty_predictions_and_tried_again(tmp_path: Path) -> None:
    data = dataset()
    failing = Echo(data, fail=frozenset({1, 5}))
    report = evaluate(config(tmp_path), failing, data, NullTracker())
    assert (report.errors, report.fields["surname"].counts["lenient"]) == (2, 22)
    again = Echo(data)
    report = evaluate(config(tmp_path), again, data, NullTracker())
    assert (again.calls, report.errors) == (2, 0)


def test_too_many_failures_stop_the_job_with_the_reason(tmp_path: Path) -> None:
    data = dataset()
    failing = Echo(data, fail=frozenset(range(24)))
    with pytest.raises(JobError, match=r"of 24 references failed(.|\n)*HTTP 500"):
        evaluate(config(tmp_path, max_errors=0.25), failing, data, NullTracker())
    assert not (tmp_path / "report.json").exists()
    report = evaluate(config(tmp_path, max_errors=0.25), Echo(data), data, NullTracker())
    assert report.errors == 0


def test_other_data_or_another_system_does_not_resume(tmp_path: Path) -> None:
    data = dataset()
    evaluate(config(tmp_path), Echo(data), data, NullTracker())
    with pytest.raises(InputError, match="data_digest"):
        evaluate(config(tmp_path), Echo(data), dataset(23), NullTracker())


def test_rows_without_plain_text_are_refused(tmp_path: Path) -> None:
    bare = Dataset((Row(None, None, "<m/>", "tes"),), "bare", "bare.jsonl", None)
    with pytest.raises(InputError, match=r"1 of 1 rows of bare\.jsonl have no plain text"):
        evaluate(config(tmp_path / "x"), Echo(bare), bare, NullTracker())
    assert not (tmp_path / "x").exists()


def test_batches_are_answered_in_order(tmp_path: Path) -> None:
    data = dataset(10)
    system = Echo(data)
    system.batch_size = 4
    report = evaluate(config(tmp_path), system, data, NullTracker())
    assert report.fields["article-title"].value("recall_lenient") == 100.0


def test_stored_predictions_hold_text_where_text_must_be() -> None:
    row = {"xml": "<m><year>1</year></m>", "prediction": ""}
    same = [row | {"citing_article": 1, "language": float("nan")}, row | {"citing_article": "1"}]
    report = make_report([row, *same])
    assert (report.clusters, dict(report.slices)) == (2, {})
    with pytest.raises(InputError, match=r"Prediction 2: column `citing_article` .* not \[1\]"):
        make_report([row, row | {"citing_article": [1]}])


def test_stored_predictions_need_gold_and_prediction() -> None:
    with pytest.raises(InputError, match="Prediction 1"):
        make_report([{"xml": "<m/>", "prediction": 3}])
    with pytest.raises(InputError, match="No metric profile"):
        make_report([], profile="loose")
