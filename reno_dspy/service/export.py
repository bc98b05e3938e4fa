"""Corrected references in the formats that other programs read: `POST /export`.

What is converted is what the page shows, the marked fields that are sent, by the writers of `reno
annotate`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, HTTPException, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from reno_dspy.annotate.files import Answer, Form, write_answers
from reno_dspy.data.corrections import Correction, merged
from reno_dspy.service.corrections import json_only, read_body

# Media type -> the writer's name of the format.
_FORMS: dict[str, Form] = {
    "application/xml": "jats",
    "application/vnd.citationstyles.csl+json": "csl",
}
_ROWS = "application/x-ndjson"


class References(BaseModel):
    """The references to convert."""

    model_config = ConfigDict(extra="forbid")

    references: tuple[Correction, ...] = Field(min_length=1)


def export_router() -> APIRouter:
    """The route that converts marked references, by `Accept`."""
    router = APIRouter()

    @router.post("/export", summary="Convert marked references", dependencies=[Depends(json_only)])
    def export(request: Request, body: Annotated[Any, Body()]) -> Response:
        kind = _wanted(request.headers.get("accept", ""))
        references = read_body(References, body).references
        content = _rows(references) if kind == _ROWS else _converted(references, _FORMS[kind])
        return Response(content, media_type=kind)

    return router


def _wanted(accept: str) -> str:
    """The first media type of `accept` that there is. Raises HTTPException 406 for none."""
    known = [*_FORMS, _ROWS]
    asked = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
    found = next((kind for kind in asked if kind in known), None)
    if found is None:
        raise HTTPException(406, f"Name one of these in `Accept`: {', '.join(known)}.")
    return found


def _converted(references: Sequence[Correction], form: Form) -> bytes:
    answers = (
        Answer(label="", text=one.text, annotation=one.xml(), error=None) for one in references
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / form
        write_answers(file, form, answers)
        return file.read_bytes()


def _rows(references: Sequence[Correction]) -> bytes:
    """Rows as `--data` reads them, each with the split that a corrections folder would give it."""
    lines = [json.dumps(kept.record(), ensure_ascii=False) for kept in merged(references).values()]
    return "".join(f"{line}\n" for line in lines).encode()
