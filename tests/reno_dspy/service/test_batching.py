"""Sharing a system: turns, late answers, and a system that breaks its word."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence

import pytest
from fastapi.testclient import TestClient

from reno_dspy.service.app import create_app
from reno_dspy.service.batching import Batcher, Busy
from reno_dspy.service.limits import Limits
from reno_dspy.service.metrics import Metrics
from reno_dspy.systems import Completion

PLAIN = {"content-type": "text/plain"}


class Scripted:
    """Answers with the text itself; notes its batches; waits for ever or fails on demand."""

    name = "scripted"
    batch_size = 4
    concurrency = 1

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def identity(self) -> Mapping[str, str]:
        return {"model": "scripted"}

    async def start(self) -> None:
        pass

    async def annotate(self, references: Sequence[str]) -> list[Completion]:
        self.batches.append(list(references))
        if "stuck" in references:
            await asyncio.Event().wait()
        if "raise" in references:
            raise ValueError(f"cannot read {references}")
        await asyncio.sleep(0)
        return [Completion(f"<mixed-citation>{text}</mixed-citation>") for text in references]


def test_a_short_request_takes_turns_with_a_long_one() -> None:
    system = Scripted()

    async def ask() -> None:
        batcher = Batcher(system, 100, Metrics())
        await batcher.start()
        with batcher.asking([f"long {n}" for n in range(12)]) as long:
            with batcher.asking(["short 0", "short 1"]) as short:
                assert [one.text for one in await asyncio.gather(*short)] == [
                    "<mixed-citation>short 0</mixed-citation>",
                    "<mixed-citation>short 1</mixed-citation>",
                ]
                assert not long[-1].done()
            await asyncio.gather(*long)
            with pytest.raises(Busy), batcher.asking(["x"] * 101):
                pass
        await batcher.stop()

    asyncio.run(ask())
    assert system.batches[0] == ["long 0", "short 0", "long 1", "short 1"]
    assert [len(batch) for batch in system.batches] == [4, 4, 4, 2]


def test_what_nobody_waits_for_is_not_asked() -> None:
    system = Scripted()

    async def ask() -> None:
        batcher = Batcher(system, 100, Metrics())
        await batcher.start()
        with batcher.asking(["left"] * 50):
            pass
        with batcher.asking(["kept"]) as futures:
            await asyncio.gather(*futures)
        await batcher.stop()

    asyncio.run(ask())
    assert system.batches == [["kept"]]


def test_late_answers_are_refused_or_error_rows() -> None:
    with TestClient(create_app(Scripted(), Limits(seconds=0.2))) as client:
        late = client.post("/annotate", content="stuck", headers=PLAIN)
        assert (late.status_code, late.json()) == (503, {"detail": "No answer in 0.2 s."})
        lines = client.post(
            "/annotate", content="stuck\na", headers=PLAIN | {"accept": "application/x-ndjson"}
        ).text.splitlines()
        assert len(lines) == 2
        assert all("No answer in 0.2 s." in line for line in lines)


def test_a_system_that_raises_costs_its_batch_and_leaks_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG), TestClient(create_app(Scripted(), Limits())) as client:
        failed = client.post("/annotate", content="raise", headers=PLAIN).json()["references"][0]
        assert failed["error"] == "the system failed (ValueError)"
        fine = client.post("/annotate", content="fine", headers=PLAIN).json()["references"][0]
        assert fine["xml"] == "<mixed-citation>fine</mixed-citation>"
        assert client.get("/health").status_code == 200
    assert "cannot read" not in caplog.text
