"""The page on which people read, correct and accept annotations: static files, and what they must know."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Response

from reno_dspy.jats.elements import (
    ELEMENTS,
    PEOPLE,
    PERSON_ROLES,
    PUB_ID_TYPES,
    PUBLICATION_TYPES,
    WHOLE_PEOPLE,
)

_FILES = {
    "index.html": "text/html",
    "style.css": "text/css",
    **{
        f"{name}.js": "text/javascript"
        for name in ("app", "board", "card", "dom", "model", "service", "words")
    },
}
# Nothing from elsewhere, nothing inline: what a reference holds is never run, and goes nowhere.
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def page_router(*, saves: bool) -> APIRouter:
    """The page at `/`, its files, and the vocabulary; `saves` says whether corrections can be kept."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    def index() -> Response:
        return _file("index.html")

    @router.get("/page/settings.json")
    def settings() -> dict[str, Any]:
        return _vocabulary() | {"saves": saves}

    @router.get("/page/{name}")
    def part(name: str) -> Response:
        return _file(name) if name in _FILES else Response(status_code=404)

    return router


def _file(name: str) -> Response:
    content = files(__name__).joinpath(name).read_bytes()
    return Response(content, media_type=_FILES[name], headers=_HEADERS)


def _vocabulary() -> dict[str, Any]:
    """The fields that can be marked, in the order of the table, and the words that go with them."""
    return {
        "fields": [
            {"name": one.name, "kind": one.kind, "roles": _roles(one.name)}
            for one in ELEMENTS
            if one.tagged
        ],
        "types": [one.name for one in PUBLICATION_TYPES],
    }


def _roles(field: str) -> tuple[str, ...]:
    if field in PEOPLE | WHOLE_PEOPLE:
        return PERSON_ROLES
    return PUB_ID_TYPES if field == "pub-id" else ()
