"""What every test can use: the development data beside the checkout, and nothing from the network."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

# Two threads that spin for each other on a busy machine take many times as long (docs/log/2026-11.md).
os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# A busy machine is no dead server.
os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] = "120"
# What a shell may have set must not reach the jobs and the tables that tests look at.
for _name in ("MLFLOW_TRACKING_URI", "MLFLOW_RUN_ID", "OPENAI_API_KEY", "COLUMNS", "FORCE_COLOR"):
    os.environ.pop(_name, None)

# The same examples every time, however slow the machine is.
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder `shared` beside the checkout; tests that need it skip where it is absent."""
    folder = ROOT.parent / "shared"
    if not (folder / "data").is_dir():
        pytest.skip("needs the development data in ../shared, which is not here")
    return folder


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The manifest of the sample corpus that the project ships."""
    return ROOT / "examples" / "corpus" / "corpus.tsv"
