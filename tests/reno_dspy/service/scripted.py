"""The service on a system whose answers are known: served in a thread, stopped and started again."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import uvicorn

from reno_dspy.base.listening import address_of, listening
from reno_dspy.jats.spans import Span, render
from reno_dspy.service.app import create_app
from reno_dspy.service.corrections import CorrectionStore, corrections_router
from reno_dspy.service.export import export_router
from reno_dspy.service.limits import Limits
from reno_dspy.service.page import page_router
from reno_dspy.systems import Completion, Confidence, ValueConfidence

# "Ito K. Foxes. J Fict. 2010;12:3." and what its parts are.
SHAPE = re.compile(r"(\w+) (\w+)\. ([^.]+)\. ([^.]+)\. (\d{4});(\d+):(\d+)\.")
FIELDS = ("surname", "given-names", "article-title", "source", "year", "volume", "fpage")


class Scripted:
    """Knows one shape of references, and is unsure of sources."""

    name = "scripted"
    batch_size = 8
    concurrency = 1

    def identity(self) -> Mapping[str, str]:
        return {}

    async def start(self) -> None:
        pass

    async def annotate(self, references: Sequence[str]) -> list[Completion]:
        return [self._answer(text) for text in references]

    def _answer(self, text: str) -> Completion:
        found = SHAPE.match(text)
        spans, values = [], []
        for number, field in enumerate(FIELDS if found else (), start=1):
            assert found
            spans.append(Span(*found.span(number), field, "author" if number < 3 else None))
            sure = 0.4 if field == "source" else 0.95
            values.append(ValueConfidence(field, found.group(number), sure))
        confidence = Confidence(0.6, tuple(values)) if found else None
        return Completion(render(text, spans, "journal"), confidence=confidence)


@contextmanager
def served(folder: Path | None, port: int = 0, token: str | None = None) -> Iterator[str]:
    """The address of a running service that saves to `folder`."""
    with ExitStack() as stack:
        store = stack.enter_context(CorrectionStore.open(folder)) if folder else None
        routers = (corrections_router(store), export_router(), page_router(saves=store is not None))
        app = create_app(Scripted(), Limits(), token, routers=routers)
        listener = stack.enter_context(listening("127.0.0.1", port))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
        thread = threading.Thread(target=server.run, args=([listener],))
        address = address_of(listener)
        thread.start()
        try:
            while not server.started:
                time.sleep(0.02)
            yield address
        finally:
            server.should_exit = True
            thread.join()
