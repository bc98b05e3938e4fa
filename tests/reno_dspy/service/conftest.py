"""One service for the tests that only ask it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.reno_dspy.service.running import Service, serving


@pytest.fixture(scope="session")
def crf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """`reno serve crf` with its usual limits, in a process of its own."""
    with serving(tmp_path_factory.mktemp("crf"), "crf") as service:
        yield service
