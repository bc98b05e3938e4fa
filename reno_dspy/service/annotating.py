"""`POST /annotate`: references in, annotations out, in the format that `Accept` names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from reno_dspy.annotate.files import Answer, written
from reno_dspy.service.accept import FORMS, LINES, accepted
from reno_dspy.service.annotated import AnnotatedList, annotated
from reno_dspy.service.asking import Asker, unless_gone
from reno_dspy.service.pdfs import PdfReader
from reno_dspy.service.reading import KINDS, references_in

_JSON = "application/json"
_OFFERED = (_JSON, *FORMS, LINES)
_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "text/plain": {"schema": {"type": "string", "description": "One reference a line."}},
        "application/json": {"schema": {"type": "array", "items": {"type": "string"}}},
        **{kind: {"schema": {"type": "string", "format": "binary"}} for kind in KINDS[2:]},
    },
}


def annotate_router(asker: Asker, pdfs: PdfReader) -> APIRouter:
    """The route that annotates references."""
    router = APIRouter(tags=["annotate"])

    @router.post(
        "/annotate",
        summary="Annotate references",
        response_model=AnnotatedList,
        responses={200: {"content": {kind: {} for kind in _OFFERED}}},
        openapi_extra={"requestBody": _BODY},
    )
    async def annotate(request: Request) -> Response:
        kind = accepted(request.headers.get("accept", ""), _OFFERED)
        references = await references_in(request, pdfs)
        if kind == LINES:
            return await _stream(asker.stream(references))
        answers = await unless_gone(request, asker.answers(references))
        if kind == _JSON:
            return await asyncio.to_thread(_json, asker.name, answers)
        text = await asyncio.to_thread(lambda: "".join(written(FORMS[kind], answers)))
        return Response(text, media_type=kind)

    return router


def _json(system: str, answers: list[Answer]) -> Response:
    found = AnnotatedList(system=system, references=[annotated(one) for one in answers])
    return Response(found.model_dump_json(), media_type=_JSON)


async def _stream(answers: AsyncIterator[Answer]) -> Response:
    # What is refused is refused before the answer begins.
    first = await anext(answers)

    async def lines() -> AsyncIterator[str]:
        yield f"{annotated(first).model_dump_json()}\n"
        async for answer in answers:
            yield f"{annotated(answer).model_dump_json()}\n"

    return StreamingResponse(lines(), media_type=LINES)
