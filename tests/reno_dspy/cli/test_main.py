"""The command as a user meets it: exit codes, plain messages, nothing half written."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from reno_dspy.cli import main

PAIR = {
    "plaintext": "Ito K. Foxes. 2001.",
    "xml": "<m><surname>Ito</surname> <year>2001</year></m>",
}


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


Reno = Callable[..., Done]


@pytest.fixture
def reno(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Reno:
    """Runs the command in this process and in an own working directory."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, stdin: str = "") -> Done:
        monkeypatch.setattr("sys.argv", ["reno", *arguments])
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        return Done(code, *capsys.readouterr())

    return run


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps(PAIR) + "\n" for _ in range(3)))
    return file


def test_help_and_version(reno: Reno) -> None:
    done = reno("--help")
    assert done.returncode == 0
    assert "evaluate" in done.stdout
    assert "0.1.0" in reno("--version").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing"], 2, "No such command 'nothing'"),
        (["evaluate", "--system", "crf"], 2, "data: required (--data)"),
        (["evaluate", "--sistem", "crf"], 2, "No such option"),
        (["evaluate", "--config", "none.yaml"], 2, "Cannot read none.yaml"),
        (["evaluate", "--config", "bad.yaml"], 2, "limt: unknown option"),
        (["evaluate", "--system", "crf", "--data", "no.jsonl", "--out", "o"], 2, "no.jsonl does not exist"),
        (["evaluate", "--system", "crv", "--data", "pairs.jsonl", "--out", "o"], 2, "Did you mean crf?"),
        (["evaluate", "--system", "crf", "--adapter", "x", "--data", "pairs.jsonl", "--out", "o"], 2,
         "crf takes no --adapter, but these do: tagger"),
        (["score", "none.jsonl"], 2, "none.jsonl"),
        (["score", "empty.jsonl"], 2, "empty.jsonl holds no predictions"),
        (["evaluate", "--system", "crf", "--data", "pairs.jsonl", "--out", "o", "--trace", "3",
          "--no-tracking"], 2, "--trace writes to MLflow"),
        (["build", "--corpus", "none", "--out", "o"], 2, "none"),
        (["build", "hollow", "--corpus", "none", "--out", "o"], 2, "Two corpora are given"),
        (["build", "--corpus", "hollow", "--out", "o"], 2, "hollow"),
        (["annotate", "none.txt", "--out", "o.xml"], 2, "none.txt does not exist"),
        (["finetune", "nothing", "--data", "d", "--out", "o"], 2, "No recipe 'nothing'"),
        (["optimize", "nothing", "--data", "d", "--out", "o"], 2, "No recipe 'nothing'"),
    ],
)  # fmt: skip
def test_wrong_requests_are_answered_plainly(
    reno: Reno, tmp_path: Path, pairs: Path, arguments: list[str], code: int, message: str
) -> None:
    (tmp_path / "bad.yaml").write_text("system: crf\nlimt: 3\n")
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "hollow").mkdir()
    done = reno(*arguments)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert not (tmp_path / "o").exists() or not any((tmp_path / "o").iterdir())


def test_a_dead_endpoint_fails_with_one_message(reno: Reno, tmp_path: Path, pairs: Path) -> None:
    arguments = ["evaluate", "--system", "qwen3-0.6b", "--data", str(pairs), "--out", "o",
                 "--api-base", "http://127.0.0.1:9/v1", "--no-tracking"]  # fmt: skip
    done = reno(*arguments)
    assert done.returncode == 1
    assert "127.0.0.1:9" in done.stderr
    assert not (tmp_path / "o" / "report.json").exists()


def test_traces_that_cannot_be_written_fail_no_evaluation(
    reno: Reno, tmp_path: Path, pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    done = reno("evaluate", "--system", "crf", "--data", str(pairs), "--out", "o", "--trace", "all")
    assert done.returncode == 0, done.stderr
    assert "surname" in done.stdout
    assert "No traces were written" in done.stderr
    assert (tmp_path / "o" / "report.json").exists()


def test_the_crf_is_evaluated_scored_and_annotates(reno: Reno, tmp_path: Path, pairs: Path) -> None:
    done = reno("evaluate", "--system", "crf", "--data", str(pairs), "--out", "o", "--no-tracking")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "o" / "report.json").read_text())
    scored = json.loads(reno("score", "o/predictions.jsonl", "--json").stdout)
    assert scored["fields"] == report["fields"]
    assert (scored["n"], scored["valid_xml"]) == (3, 100.0)
    words = ("annotate", "-", "--system", "crf", "--out", "refs.xml")
    done = reno(*words, stdin="Ito K. Foxes. 2001.\n\n")
    assert done.returncode == 0, done.stderr
    written = (tmp_path / "refs.xml").read_text()
    assert "<year>2001</year>" in written
    assert (
        reno("annotate", "-", "--system", "crf", stdin="Ito K. Foxes. 2001.\n\n").stdout == written
    )


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m reno_dspy.cli --help | head -1"
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""


def test_a_terminal_that_is_not_utf_8_ends_no_job(tmp_path: Path) -> None:
    file = tmp_path / "predictions.jsonl"
    file.write_text(json.dumps(PAIR | {"index": 0, "prediction": "", "error": None}) + "\n")
    command = [sys.executable, "-m", "reno_dspy.cli", "score", str(file)]
    environment = os.environ | {"PYTHONIOENCODING": "latin-1", "LC_ALL": "C"}
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"surname" in done.stdout


def test_credentials_are_shown_nowhere(reno: Reno, pairs: Path) -> None:
    words = ("evaluate", "--system", "qwen3-0.6b", "--data", str(pairs), "--out", "o",
             "--api-base", "http://me:hunter2pass@127.0.0.1:9/v1", "--no-tracking")  # fmt: skip
    for done in (reno(*words, "--dry-run"), reno(*words)):
        assert "127.0.0.1:9" in done.stdout + done.stderr
        assert "hunter2pass" not in done.stdout + done.stderr
