"""`/api/...`: GROBID's services for references, answered by any system.

GROBID 0.9, https://grobid.readthedocs.io/en/latest/Grobid-service/. What its clients send besides is
ignored: coordinates, sentences, and consolidation, which would send references to others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import PlainTextResponse, Response

from reno_dspy import __version__
from reno_dspy.annotate.files import Answer, written
from reno_dspy.base.files import digest
from reno_dspy.service.accept import accepted
from reno_dspy.service.asking import Asker, unless_gone
from reno_dspy.service.grobid.tei import bibl_list, bibl_struct
from reno_dspy.service.limits import Limits
from reno_dspy.service.pdfs import PdfReader
from reno_dspy.service.reading import references_of_upload

_XML, _BIBTEX = "application/xml", "application/x-bibtex"
_NOTHING = 204
_IGNORED = {"X-Consolidation": "ignored: this service looks nothing up"}
_FIELDS = "consolidateCitations", "includeRawCitations"


def grobid_router(
    asker: Asker, pdfs: PdfReader, limits: Limits, identity: Mapping[str, str]
) -> APIRouter:
    """The routes; the version that they give changes with the `identity` of the system."""
    router = APIRouter(prefix="/api", tags=["GROBID"], default_response_class=PlainTextResponse)
    version = f"reno-dspy-{__version__}-{digest(repr(sorted(identity.items())), 12)}"

    @router.get("/isalive", summary="Whether references are answered")
    async def isalive() -> str:
        return "true"

    @router.get("/version", summary="Version of this program, with a digest of the system")
    async def show_version() -> str:
        return version

    async def citations(request: Request) -> Response:
        """Answer the citations of a form, one or several."""
        async with request.form(max_fields=limits.references + 10) as form:
            given = [text for text in form.getlist("citations") if isinstance(text, str)]
            options = {name: str(form.get(name, "0")) for name in _FIELDS}
        if not any(text.strip() for text in given):
            return Response(status_code=_NOTHING)
        one = request.url.path.endswith("/processCitation")
        texts = [" ".join(text.split()) for text in (given[:1] if one else given)]
        answers = await unless_gone(request, _answers(asker, texts))
        return await _response(request, answers, options, alone=one)

    for name, summary in (
        ("processCitation", "One reference"),
        ("processCitationList", "Several references"),
    ):
        body = _form({"citations": {"type": "string"}}, "application/x-www-form-urlencoded")
        router.post(f"/{name}", summary=summary, openapi_extra=body)(citations)

    @router.post(
        "/processReferences",
        summary="The references of a PDF",
        openapi_extra=_form(
            {"input": {"type": "string", "format": "binary"}}, "multipart/form-data"
        ),
    )
    async def references(request: Request) -> Response:
        try:
            found = await references_of_upload(request, pdfs, "input")
        except HTTPException as error:
            # What GROBID says of a file that it cannot read.
            status = 400 if error.status_code == 422 else error.status_code
            raise HTTPException(status, error.detail, error.headers) from None
        if not found:
            return Response(status_code=_NOTHING)
        form = await request.form()
        options = {name: str(form.get(name, "0")) for name in _FIELDS}
        answers = await unless_gone(request, asker.answers(found))
        return await _response(request, answers, options, alone=False)

    return router


async def _answers(asker: Asker, texts: Sequence[str]) -> list[Answer]:
    """An answer for each text; an empty one has an empty annotation."""
    found = iter(await asker.answers([text for text in texts if text]))
    empty = Answer(label="", text="", annotation="<mixed-citation/>", error=None)
    return [next(found) if text else empty for text in texts]


async def _response(
    request: Request, answers: Sequence[Answer], options: Mapping[str, str], *, alone: bool
) -> Response:
    kind = accepted(request.headers.get("accept", ""), (_XML, _BIBTEX, "text/plain"))
    raw = _is_on(options["includeRawCitations"])
    if alone and answers[0]["annotation"] is None:
        raise HTTPException(500, str(answers[0]["error"]))

    def shown() -> str:
        if kind == _BIBTEX:
            return "".join(written("bibtex", answers))
        return bibl_struct(answers[0], raw=raw) if alone else bibl_list(answers, raw=raw)

    headers = _IGNORED if _is_on(options["consolidateCitations"]) else {}
    text = await asyncio.to_thread(shown)
    return Response(text, headers=headers, media_type=_XML if kind == "text/plain" else kind)


def _is_on(option: str) -> bool:
    """GROBID's clients say `1` or `2`, and some `true`."""
    return option.strip().lower() not in ("", "0", "false")


def _form(fields: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """What the description of the interface says of a form."""
    options = {name: {"type": "string"} for name in _FIELDS}
    schema = {"type": "object", "properties": {**fields, **options}, "required": [*fields]}
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema}}}}
