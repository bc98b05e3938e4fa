"""`reno serve`: what it starts, what it refuses, and whom it warns."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from reno_dspy.cli.main import main
from reno_dspy.cli.serve import _is_system
from tests.reno_dspy.service.running import serving


@pytest.mark.parametrize(
    ("name", "is_system"),
    [
        ("tagger", True), ("crf", True), ("grobid", True), ("mine.crfsuite", True), ("lm.yaml", True),
        ("qwen3-0.6b", True), ("smollm2-135m", False), ("tiny", False), ("Qwen/Qwen3-0.6B", False),
        ("runs/merged", False),
    ],
)  # fmt: skip
def test_what_is_a_system_and_what_a_model(name: str, is_system: bool) -> None:
    assert _is_system(name) is is_system


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("crf --merge out", "crf is a system, which takes no --merge."),
        ("crf --engine cpu", "crf is a system, which takes no --engine."),
        ("crf --adapter a --adapter b", "takes one --adapter"),
        ("crf --adapter a", "crf takes no --adapter"),
        ("crf --set limits.body_mb=0", "limits.body_mb"),
        ("crf --set limits.speed=1", "limits.speed"),
        ("nothing.crfsuite", "Cannot read the CRF model nothing.crfsuite"),
        ("smollm2-135m --corrections c", "is a language model, which takes no --corrections."),
        ("smollm2-135m --set limits.body_mb=1", "is a language model, which takes no --set."),
    ],
)
def test_what_cannot_be_served_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: str,
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["reno", "serve", *arguments.split()])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_a_port_in_use_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        monkeypatch.setattr("sys.argv", ["reno", "serve", "crf", "--port", port])
        with pytest.raises(SystemExit) as end:
            main()
    assert end.value.code == 2
    assert f"Cannot listen on 127.0.0.1:{port}" in capsys.readouterr().err


def test_an_open_service_warns_and_saves_corrections(tmp_path: Path) -> None:
    folder = tmp_path / "corrections"
    with serving(
        tmp_path, "crf", "--host", "0.0.0.0", "--corrections", str(folder), RENO_TOKEN=""
    ) as service:
        assert "Everybody who reaches 0.0.0.0 may ask this service" in service.said
        ito = {"text": "Ito K. 2010.", "spans": [], "accepted": True}
        assert service.client.post("/corrections", json={"references": [ito]}).status_code == 200
        assert service.client.get("/page/settings.json").json()["saves"] is True
    assert "Ito K. 2010." in (folder / "corrections.jsonl").read_text(encoding="utf-8")
