"""Prompts in MLflow's registry, also in the store that is used when none is named."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from programs.chat_format import render_messages
from programs.prompts import load
from reno_dspy.base.errors import InputError
from tracking.mlflow_tracker import MlflowTracker
from tracking.prompt_registry import load_prompt, register_prompt


def test_a_prompt_is_registered_linked_and_read_back(
    tmp_path: Path, empty_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / "mlruns").mkdir()
    shutil.copy(empty_store, tmp_path / "mlruns" / "mlflow.db")
    prompt = load("two-shot")
    messages = render_messages(prompt, "{{reference}}")
    with MlflowTracker().start("optimize", "made", run_dir=tmp_path / "run", config={}) as run:
        uri = register_prompt("two shot!", messages, prompt.digest, run.id, "a note")
        assert register_prompt("two shot!", messages, prompt.digest, run.id, "again") == uri
    found = load_prompt(uri)
    assert found["instructions"] == prompt.instructions
    assert [demo["reference"] for demo in found["demos"]] == [d.reference for d in prompt.demos]
    with pytest.raises(InputError, match="No prompt"):
        load_prompt("prompts:/none/1")
    assert "MLFLOW_TRACKING_URI" not in os.environ
