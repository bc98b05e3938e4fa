"""Corrected references in the formats that other programs read: `POST /export`.

What is converted is what the page shows, the marked fields that are sent, by the writers of `reno
annotate`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from reno_dspy.annotate.files import Answer, Form, written
from reno_dspy.data.corrections import Correction, merged
from reno_dspy.service.accept import FORMS, LINES, accepted
from reno_dspy.service.corrections import json_only, read_body


class References(BaseModel):
    """The references to convert."""

    model_config = ConfigDict(extra="forbid")

    references: tuple[Correction, ...] = Field(min_length=1)


def export_router() -> APIRouter:
    """The route that converts marked references, by `Accept`."""
    router = APIRouter()

    @router.post("/export", summary="Convert marked references", dependencies=[Depends(json_only)])
    def export(request: Request, body: Annotated[Any, Body()]) -> Response:
        kind = accepted(request.headers.get("accept", ""), (*FORMS, LINES))
        references = read_body(References, body).references
        content = _rows(references) if kind == LINES else _converted(references, FORMS[kind])
        return Response(content, media_type=kind)

    return router


def _converted(references: Sequence[Correction], form: Form) -> str:
    answers = (
        Answer(label="", text=one.text, annotation=one.xml(), error=None) for one in references
    )
    return "".join(written(form, answers))


def _rows(references: Sequence[Correction]) -> str:
    """Rows as `--data` reads them, each with the split that a corrections folder would give it."""
    lines = [json.dumps(kept.record(), ensure_ascii=False) for kept in merged(references).values()]
    return "".join(f"{line}\n" for line in lines)
