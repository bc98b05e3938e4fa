"""Logs of JSON lines survive a killed process, and say which line somebody broke."""

from pathlib import Path

import pytest

from reno_dspy.base.errors import InputError
from reno_dspy.base.jsonl import JsonlLog


def test_a_torn_line_is_cut_off(tmp_path: Path) -> None:
    log = JsonlLog(tmp_path / "log.jsonl")
    with log.appending() as out:
        out.write({"n": 1})
    with open(log.path, "a") as file:
        file.write('{"n": 2, "text": "tor')
    assert log.read() == [{"n": 1}]
    with log.appending() as out:
        out.write({"n": 3})
    assert log.read() == [{"n": 1}, {"n": 3}]


def test_records_are_found_again_by_their_offset(tmp_path: Path) -> None:
    log = JsonlLog(tmp_path / "log.jsonl")
    log.replace({"n": n, "text": "é" * n} for n in range(3))
    offsets = [offset for offset, _ in log.with_offsets()]
    assert [log.at(offset)["n"] for offset in reversed(offsets)] == [2, 1, 0]


@pytest.mark.parametrize("line", ["{oops", "[1]", "3"])
def test_a_line_that_is_no_json_object_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "log.jsonl").write_text(f'{{"n": 1}}\n{line}\n{{"n": 3}}\n')
    with pytest.raises(InputError, match=r"log\.jsonl:2 is not (a )?JSON"):
        JsonlLog(tmp_path / "log.jsonl").read()


def test_lone_surrogates_survive(tmp_path: Path) -> None:
    log = JsonlLog(tmp_path / "log.jsonl")
    with log.appending() as out:
        out.write({"text": "a\ud800b"})
    assert log.read() == [{"text": "a\ud800b"}]
