"""A credential, wherever it is given, stands in no file of a run, no message and no tracked event."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reno_dspy.cli import main
from tests.programs.faulty import FaultyEndpoint

SECRETS = ("hunter2pass", "bWU6aHVudGVy", "gateway-variable", "sk-in-the-body", "written-literally")


@pytest.mark.parametrize(("mode", "code"), [("right", 0), ("unauthorized", 1)])
def test_no_credential_is_kept(
    mode: str,
    code: int,
    faulty: FaultyEndpoint,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # What the run tells is kept beside it, to be sent once the store is back.
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("GATEWAY", "gateway-variable-1")
    recipe, data, out = tmp_path / "lm.yaml", tmp_path / "rows.jsonl", tmp_path / "out"
    recipe.write_text(
        "name: m\nlm:\n  model: openai/m\n  headers: {X-Gateway: $GATEWAY, X-Token: written-literally}\n"
        "  extra_body: {api_key: sk-in-the-body, top_k: 3}\n"
    )
    data.write_text(json.dumps({"plaintext": "A ref.", "xml": "<m><year>1</year></m>"}))
    address = faulty.url(mode).replace("://", "://me:hunter2pass@")
    words = ["reno", "evaluate", "--system", f"{recipe}", "--data", f"{data}", "--out", f"{out}"]
    monkeypatch.setattr("sys.argv", [*words, "--api-base", address])
    try:
        main()
        ended = 0
    except SystemExit as end:
        ended = int(end.code or 0)
    assert ended == code
    kept = [path.read_text() for path in out.rglob("*") if path.is_file()]
    assert any('"do": "start"' in text for text in kept)  # the journal of the run
    told = capsys.readouterr()
    for text in (*kept, told.out, told.err):
        assert not [secret for secret in SECRETS if secret in text]
