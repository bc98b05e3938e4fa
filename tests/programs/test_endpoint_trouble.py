"""`reno evaluate` against an endpoint that limits, fails, stalls, cuts off and dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reno_dspy.cli import main
from tests.programs.conftest import Answer, Endpoint, completion

Start = Callable[[Answer], Endpoint]
ROWS = 12


def text_of(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


def number_of(body: dict[str, Any]) -> int:
    return int(text_of(body).split()[-1].rstrip("."))


def annotation(body: dict[str, Any]) -> str:
    return (
        f"<mixed-citation>{text_of(body).replace('Ito', '<surname>Ito</surname>')}</mixed-citation>"
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Rows in four citing articles."""
    file = tmp_path / "rows.jsonl"
    rows = [
        {"plaintext": f"Ito K. Foxes {i}.", "xml": "<m><surname>Ito</surname></m>",
         "citing_article": f"a{i % 4}"}
        for i in range(ROWS)
    ]  # fmt: skip
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def arguments(folder: Path, data: Path, url: str, **lm: Any) -> list[str]:
    recipe = folder / "lm.yaml"
    options = "\n".join(f"  {name}: {value}" for name, value in lm.items())
    recipe.write_text(f"name: scripted\nconcurrency: 4\nlm:\n  model: openai/m\n{options}\n")
    return ["evaluate", "--system", str(recipe), "--data", str(data), "--api-base", url,
            "--out", str(folder / "run"), "--no-tracking"]  # fmt: skip


def run(monkeypatch: pytest.MonkeyPatch, command: list[str]) -> int:
    monkeypatch.setattr("sys.argv", ["reno", *command])
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def report_in(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((folder / "run" / "report.json").read_text())
    return report


def test_limits_failures_stalls_and_cuts_are_survived(
    endpoint: Start, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: Counter[int] = Counter()

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        number = number_of(body)
        asked[number] += 1
        if asked[number] == 1 and number in (1, 2):
            return {1: 429, 2: 503}[number], {"error": {"message": "later"}}
        if asked[number] == 1 and number == 3:
            time.sleep(9)
        if number == 4:
            return 200, completion("<mixed-citation><surname>It", "length")
        return 200, annotation(body)

    command = arguments(tmp_path, data, endpoint(answer).url, timeout=4, num_retries=4)
    assert run(monkeypatch, command) == 0
    report = report_in(tmp_path)
    assert (report["n"], report["errors"], report["truncated"]) == (ROWS, 0, 1)
    assert report["fields"]["surname"]["lenient"] == ROWS - 1
    assert report["completion_tokens"] == 7 * ROWS  # the trial request is no answer
    assert '"trial_tokens": 18' in (tmp_path / "run" / "sessions.jsonl").read_text()
    assert min(asked[1], asked[2], asked[3]) >= 2


def test_an_endpoint_that_dies_is_replaced_and_nothing_is_lost(
    endpoint: Start, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered: list[int] = []

    def dying(body: dict[str, Any]) -> tuple[int, Any]:
        if len(answered) >= 5:
            return 400, {"error": {"message": "gone"}}
        answered.append(number_of(body))
        return 200, annotation(body)

    first = endpoint(dying)
    assert run(monkeypatch, arguments(tmp_path, data, first.url, num_retries=0)) == 1
    assert not (tmp_path / "run" / "report.json").exists()
    first.close()
    second = endpoint(lambda body: (200, annotation(body)))
    assert run(monkeypatch, arguments(tmp_path, data, second.url, num_retries=0)) == 0
    assert {number_of(body) for body in second.requests} == set(range(ROWS)) - set(answered)
    assert (report_in(tmp_path)["n"], report_in(tmp_path)["errors"]) == (ROWS, 0)


def test_a_killed_evaluation_resumes_to_the_same_bytes(
    endpoint: Start, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        time.sleep(0.3)
        return 200, annotation(body)

    slow = endpoint(answer)
    for name in ("whole", "cut"):
        (tmp_path / name).mkdir()
    assert run(monkeypatch, arguments(tmp_path / "whole", data, slow.url)) == 0
    command = [sys.executable, "-m", "reno_dspy.cli", *arguments(tmp_path / "cut", data, slow.url)]
    log = tmp_path / "cut" / "run" / "predictions.jsonl"
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        while not log.exists() or log.read_bytes().count(b"\n") < 4:
            assert process.poll() is None
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    kept = log.read_bytes().count(b"\n")
    # Another endpoint: what the killed process had sent may still arrive at the first.
    second = endpoint(answer)
    assert run(monkeypatch, arguments(tmp_path / "cut", data, second.url)) == 0
    assert len(second.requests) == ROWS - kept
    cut, whole = (tmp_path / name / "run" for name in ("cut", "whole"))
    assert (cut / "report.json").read_bytes() == (whole / "report.json").read_bytes()
    assert [json.loads(line)["index"] for line in log.read_text().splitlines()] == list(range(ROWS))


def test_no_proxy_of_the_environment_is_asked_for_a_server_on_this_machine(
    endpoint: Start, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "intranet.example")
    server = endpoint(lambda body: (200, annotation(body)))
    assert run(monkeypatch, arguments(tmp_path, data, server.url)) == 0
    assert len(server.requests) == ROWS
