"""Files and folders appear whole or not at all; digests have one spelling."""

import hashlib
from pathlib import Path

import pytest

from reno_dspy.base.files import (
    digest,
    digest_json,
    remove_unfinished,
    replacing,
    replacing_folder,
    write_json,
)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    write_json(tmp_path / "report.json", {"a": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "report.json", {"a": float("nan")})
    assert (tmp_path / "report.json").read_text() == '{\n  "a": 1\n}\n'
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_a_folder_is_replaced_only_once_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "best"
    with replacing_folder(target) as folder:
        (folder / "weights").write_text("old")
        assert not target.exists()
    with pytest.raises(ValueError, match="not JSON compliant"), replacing_folder(target) as folder:
        write_json(folder / "weights", float("nan"))
    assert (target / "weights").read_text() == "old"
    with replacing_folder(target) as folder:
        (folder / "other").write_text("new")
    assert [path.name for path in target.iterdir()] == ["other"]
    assert [path.name for path in tmp_path.iterdir()] == ["best"]


def test_only_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    kept = [tmp_path / ".mine.tmp", tmp_path / "x.12.tmp", tmp_path / "a" / "b.json"]
    (tmp_path / "a").mkdir()
    for path in (*kept, tmp_path / "a" / ".b.json.12.tmp"):
        path.write_text("x")
    (tmp_path / ".best.34.tmp").mkdir()
    (tmp_path / ".best.34.tmp" / "weights").write_text("x")
    remove_unfinished(sorted(tmp_path.rglob("*")))
    assert sorted(p for p in tmp_path.rglob("*") if p.is_file()) == sorted(kept)
    assert not (tmp_path / ".best.34.tmp").exists()


def test_a_folder_that_was_being_replaced_is_put_back(tmp_path: Path) -> None:
    for name in (".best.old.7.tmp", ".best.7.tmp"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights").write_text(name)
    remove_unfinished(sorted(tmp_path.iterdir()))
    assert [path.name for path in tmp_path.iterdir()] == ["best"]
    assert (tmp_path / "best" / "weights").read_text() == ".best.old.7.tmp"


def test_a_lone_surrogate_is_written_as_its_escape(tmp_path: Path) -> None:
    with replacing(tmp_path / "x", "w") as file:
        file.write("a\ud800b")
    assert (tmp_path / "x").read_text() == "a\\ud800b"


def test_digests_are_prefixes_of_the_sha256() -> None:
    whole = hashlib.sha256("é".encode()).hexdigest()
    assert (digest("é", 64), digest("é".encode())) == (whole, whole[:16])
    assert digest_json({"b": 1, "a": "é"}) == digest('{"a": "é", "b": 1}')
    assert len(digest("\ud800", 12)) == 12
