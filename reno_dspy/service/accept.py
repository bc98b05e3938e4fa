"""Content negotiation (RFC 9110, section 12.5.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fastapi import HTTPException

from reno_dspy.annotate.files import Form

# Media type -> the format of `reno annotate` with the same content.
FORMS: Mapping[str, Form] = {
    "application/xml": "jats",
    "application/jats+xml": "jats",
    "application/vnd.citationstyles.csl+json": "csl",
    "application/x-bibtex": "bibtex",
    "application/x-research-info-systems": "ris",
}
LINES = "application/x-ndjson"


def accepted(accept: str, offered: Sequence[str]) -> str:
    """The media type of `offered` that the header `accept` prefers; the first for a client that takes all.

    Raises HTTPException 406 when it takes none.
    """
    wanted = [_weighed(part) for part in accept.split(",")] if accept.strip() else [("*/*", 1.0)]
    best = max(offered, key=lambda kind: _weight(kind, wanted))
    if _weight(best, wanted) <= 0:
        raise HTTPException(406, f"Name one of these in `Accept`: {', '.join(offered)}.")
    return best


def media_type(header: str) -> str:
    """The media type of a Content-Type header, without its parameters."""
    return header.partition(";")[0].strip().lower()


def _weighed(part: str) -> tuple[str, float]:
    kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
    quality = next((one[2:] for one in parameters if one.startswith("q=")), "1")
    try:
        return kind, float(quality)
    except ValueError:
        return kind, 0.0


def _weight(kind: str, wanted: Sequence[tuple[str, float]]) -> float:
    """How much `kind` is wanted: what names it counts before `text/*` and `*/*`."""
    for pattern in (kind, f"{kind.partition('/')[0]}/*", "*/*"):
        found = [quality for name, quality in wanted if name == pattern]
        if found:
            return found[0]
    return 0.0
