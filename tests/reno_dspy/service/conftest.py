"""The service with its page, really served, on a system whose answers are known."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI, Request

from reno_dspy.jats.spans import Span, project, render
from reno_dspy.service.corrections import CorrectionStore, corrections_router
from reno_dspy.service.export import export_router
from reno_dspy.service.page import page_router
from tests.reno_dspy.service.running import Service, serving

# "Ito K. Foxes. J Fict. 2010;12:3." and what its parts are.
SHAPE = re.compile(r"(\w+) (\w+)\. ([^.]+)\. ([^.]+)\. (\d{4});(\d+):(\d+)\.")
FIELDS = ("surname", "given-names", "article-title", "source", "year", "volume", "fpage")


def annotated(text: str) -> str:
    found = SHAPE.match(text)
    spans = []
    if found:
        for number, field in enumerate(FIELDS, start=1):
            role = "author" if field in FIELDS[:2] else None
            spans.append(Span(*found.span(number), field, role))
    return render(text, spans, "journal")


def tiny_app(folder: Path | None, store: CorrectionStore | None) -> FastAPI:
    app = FastAPI()

    @app.post("/annotate")
    async def annotate(request: Request) -> dict[str, Any]:
        found = []
        for text in await request.json():
            spans = project(text, annotated(text)).spans
            marked = [
                {"start": s.start, "end": s.end, "field": s.field, "role": s.role,
                 "confidence": 0.4 if s.field == "source" else 0.95}
                for s in spans
            ]  # fmt: skip
            found.append({"text": text, "publication_type": "journal", "xml": annotated(text),
                          "confidence": None, "spans": marked, "error": None})  # fmt: skip
        return {"system": "scripted", "references": found}

    app.include_router(page_router(saves=store is not None))
    app.include_router(corrections_router(store))
    app.include_router(export_router())
    return app


@contextmanager
def served(folder: Path | None, port: int = 0) -> Iterator[str]:
    """The address of a running service that saves to `folder`."""
    with CorrectionStore.open(folder) if folder else _nothing() as store:
        config = uvicorn.Config(tiny_app(folder, store), port=port, log_level="error")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.02)
        try:
            yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def _nothing() -> Iterator[None]:
    yield None


@pytest.fixture(scope="session")
def crf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """`reno serve crf` with its usual limits, in a process of its own."""
    with serving(tmp_path_factory.mktemp("crf"), "crf") as service:
        yield service
