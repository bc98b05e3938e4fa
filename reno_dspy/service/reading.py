"""The references in a request's body: lines, JSON, or those of a PDF."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastapi import HTTPException, Request
from starlette.datastructures import UploadFile

from reno_dspy.annotate.job import read_references
from reno_dspy.service.accept import media_type
from reno_dspy.service.pdfs import PdfReader

_TEXT, _JSON, _PDF, _FORM = (
    "text/plain",
    "application/json",
    "application/pdf",
    "multipart/form-data",
)
KINDS = (_TEXT, _JSON, _PDF, _FORM)


async def references_in(request: Request, pdfs: PdfReader) -> list[str]:
    """The references that a request brings, at least one.

    Raises HTTPException 415 for another kind of body, 422 for one that cannot be read.
    """
    kind = media_type(request.headers.get("content-type", ""))
    if kind == _PDF:
        found: Sequence[str] = await pdfs.references(request.stream())
    elif kind == _FORM:
        found = await references_of_upload(request, pdfs)
    elif kind == _JSON:
        found = _from_json(await request.body())
    elif kind == _TEXT:
        found = _from_text(await request.body())
    else:
        raise HTTPException(415, f"The body must be one of {', '.join(KINDS)}.")
    references = list(read_references(found))
    if not references:
        raise HTTPException(422, "The body holds no references.")
    return references


async def references_of_upload(
    request: Request, pdfs: PdfReader, name: str | None = None
) -> list[str]:
    """The references of the file in a form: the field `name`, or the only file.

    Raises HTTPException 422 when there is none, or it cannot be read.
    """
    async with request.form(max_files=1) as form:
        files = [
            v for k, v in form.multi_items() if isinstance(v, UploadFile) and name in (k, None)
        ]
        if not files:
            raise HTTPException(422, f"The form has no file{f' named {name!r}' if name else ''}.")
        upload = files[0]

        async def chunks() -> Any:
            while chunk := await upload.read(1 << 16):
                yield chunk

        if Path(upload.filename or "").suffix.lower() != ".txt":
            return await pdfs.references(chunks())
        return _from_text(await upload.read())


def _from_text(body: bytes) -> list[str]:
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise HTTPException(422, f"The body is not UTF-8 (byte {error.start}).") from None
    return text.split("\n" if "\n" in text else "\r")


def _from_json(body: bytes) -> list[str]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(422, "The body is not JSON.") from None
    if isinstance(value, dict):
        value = value.get("references")
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise HTTPException(
            422, 'The JSON must be a list of strings, or {"references": [...]} with one.'
        )
    # A line end within a string does not end the reference.
    return [" ".join(one.split()) if "\n" in one or "\r" in one else one for one in value]
