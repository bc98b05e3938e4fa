"""The best run of every system, on one data set and with one profile."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from reno_dspy.base.errors import InputError, JobError
from reno_dspy.cli.leaderboard import command
from tests.tracking.evaluations import evaluate_scripted, made_up_rows
from tracking.compare.leaderboard import leaderboard
from tracking.compare.published import import_published
from tracking.mlflow_tracker import MlflowTracker
from tracking.store import open_client

WIDTH = {"COLUMNS": "80"}


@pytest.fixture(scope="module")
def evaluated(anywhere_once: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Two systems, one of them evaluated twice, and one on other data; published rows beside."""
    folder = tmp_path_factory.mktemp("evaluated")
    tracker = MlflowTracker()
    evaluate_scripted(folder / "other", tracker, "b", rows=made_up_rows(10), data="smaller")
    evaluate_scripted(folder / "a1", tracker, "a", wrong=0.9)
    evaluate_scripted(folder / "a2", tracker, "a", wrong=0.3)
    evaluate_scripted(folder / "b", tracker, "b", wrong=0.0)
    import_published(open_client())


def test_one_row_a_system_best_first(evaluated: None) -> None:
    board = leaderboard(open_client())
    assert [row.label for row in board.rows] == ["b", "a"]
    assert (board.data, board.rows[1].report.n) == ("made-up-test", 40)
    surname = board.rows[1].report.estimate("surname", "recall_lenient")
    assert surname.low is not None
    assert surname.high is not None
    assert surname.value is not None
    assert 50 < surname.low <= surname.value <= surname.high
    [other] = board.others
    assert other.startswith("smaller-test (")


def test_data_and_profile_are_chosen(evaluated: None) -> None:
    board = leaderboard(open_client(), data="smaller-test")
    assert [row.report.n for row in board.rows] == [10]
    assert leaderboard(open_client(), data=board.digest[:8]).rows == board.rows
    with pytest.raises(InputError, match="made-up-test"):
        leaderboard(open_client(), data="nothing")
    with pytest.raises(InputError, match="normalized"):
        leaderboard(open_client(), profile="normalized")


def test_a_store_out_of_reach_is_said_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://user:secret@127.0.0.1:9")
    with pytest.raises(JobError, match="Connection refused") as error:
        CliRunner().invoke(command, [], catch_exceptions=False)
    assert "secret" not in str(error.value)


def test_the_command_prints_ranks_and_published_rows(evaluated: None) -> None:
    shown = CliRunner().invoke(command, ["--published"], catch_exceptions=False, env=WIDTH)
    assert shown.exit_code == 0
    assert (
        shown.output.index("1. b (") < shown.output.index("2. a (") < shown.output.index("GROBID")
    )
    assert "Other data (--data): smaller-test" in shown.output


def test_a_share_of_references_ranks_as_well(evaluated: None) -> None:
    arguments = ["--measure", "whole_right"]
    shown = CliRunner().invoke(command, arguments, catch_exceptions=False, env=WIDTH).output
    assert "by whole_right" in shown
    assert shown.index("1. b (") < shown.index("2. a (")
    assert {"Whole", "Tokens", "Cost"} <= set(shown.split())
