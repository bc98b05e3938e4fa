"""The service: a system behind HTTP.

create_app(system, Limits(), token)      # an ASGI application; reno_dspy.service.job runs it
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI, HTTPException
from fastapi.exceptions import RequestValidationError
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from reno_dspy import __version__
from reno_dspy.service.annotating import annotate_router
from reno_dspy.service.asking import Asker
from reno_dspy.service.batching import Batcher
from reno_dspy.service.grobid.routes import grobid_router
from reno_dspy.service.guard import Guard
from reno_dspy.service.limits import Limits
from reno_dspy.service.metrics import Metrics
from reno_dspy.service.pdfs import PdfReader
from reno_dspy.systems import System


def create_app(
    system: System,
    limits: Limits,
    token: str | None = None,
    *,
    hosts: Collection[str] | None = None,
    routers: Sequence[APIRouter] = (),
) -> FastAPI:
    """The application that annotates with `system`, which it starts with itself.

    With a `token`, requests must bear it. `hosts` are the names by which clients may call it (None: any).
    `routers` add routes of others, under the same limits.
    """
    metrics = Metrics()
    batcher = Batcher(system, limits.queue, metrics)
    asker = Asker(system.name, batcher, limits, system.batch_size)
    pdfs = PdfReader(limits)

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        try:
            await batcher.start()
            yield
        finally:
            await batcher.stop()
            pdfs.close()

    # The pages that FastAPI has for reading openapi.json fetch their scripts from elsewhere.
    app = FastAPI(
        title="reno-dspy", version=__version__, lifespan=running, docs_url=None, redoc_url=None
    )
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_middleware(Guard, limits=limits, metrics=metrics, token=token, hosts=hosts)
    own = (
        _state_router(batcher, metrics),
        annotate_router(asker, pdfs),
        grobid_router(asker, pdfs, limits, system.identity()),
    )
    for router in (*own, *routers):
        app.include_router(router)
    return app


def _state_router(batcher: Batcher, metrics: Metrics) -> APIRouter:
    router = APIRouter(tags=["state"])

    @router.get("/health", summary="Whether references are answered")
    async def health() -> dict[str, str]:
        if not batcher.alive:
            raise HTTPException(503, "The system has stopped.")
        return {"status": "ok"}

    @router.get("/metrics", summary="Metrics for Prometheus")
    async def show_metrics() -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    return router


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    """A body that FastAPI refuses, in one sentence that repeats nothing of it."""
    assert isinstance(error, RequestValidationError)
    problem = error.errors()[0]
    where = ".".join(map(str, problem["loc"]))
    return JSONResponse({"detail": f"{where}: {problem['msg']}."}, 422)
