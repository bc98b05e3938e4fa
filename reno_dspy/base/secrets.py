"""Credentials stay out of files, messages and tracked runs: `redact` is the one place that hides them.

Hidden are values that are known to be secret (environment variables named like keys, and what
`keep_secret` was told of), values beside a name that says so, credentials inside addresses, and text in
the shape of a key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

HIDDEN = "***"

# A shorter value is no key, and hiding it everywhere would garble text.
_SHORTEST = 8
_given: set[str] = set()

_VARIABLE = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$", re.IGNORECASE)
# `max_tokens` and `eos_token` are no secrets, so fields are judged more narrowly than variables.
_NAME = (
    r"(?:[\w.-]*[._-])?(?:(?:api|subscription|access)[-_]?key|(?:auth|access|api|id|hf|bearer)[-_]?token"
    r"|(?:proxy-)?authorization|cookie|secret|passw(?:or)?d|credentials?)"
)
_FIELD = re.compile(_NAME, re.IGNORECASE)
_PATTERNS = (
    # https://user:password@host
    (re.compile(r"(?<=://)[^/?#\s\"'<>]+(?=@)"), HIDDEN),
    # ?key=..., &sig=...
    (
        re.compile(
            r"([?&](?:[\w.-]*(?:key|token|secret)|sig|signature|auth|code|password)=)[^&#\s\"']+"
        ),
        rf"\1{HIDDEN}",
    ),
    # api_key=..., "password": "...", Authorization: Bearer ...
    (
        re.compile(
            rf"(?<![\w.-])({_NAME}[\"']?\s*[=:]\s*[\"']?)((?:Bearer|Basic|Token)\s+)?[^\s\"',;&}}\]]+",
            re.IGNORECASE,
        ),
        rf"\1\2{HIDDEN}",
    ),
    (re.compile(r"(\bBearer )[\w.~+/=*-]{6,}", re.IGNORECASE), rf"\1{HIDDEN}"),
    # The shapes in which OpenAI, Hugging Face, Groq, xAI, NVIDIA, GitHub, Google and others give keys.
    (re.compile(r"\b(?:sk|pk|hf|gsk|xai|pplx|nvapi|ghp|glpat)[-_][\w*.-]{6,}"), HIDDEN),
    (re.compile(r"\b(?:AIza[\w-]{30,}|eyJ[\w-]{10,}\.[\w.-]+)"), HIDDEN),
)


def keep_secret(value: str | None) -> None:
    """Have `redact` hide `value` wherever it stands, from now on."""
    if value and len(value) >= _SHORTEST:
        _given.update((value, quote(value, safe="")))


def names_a_secret(name: str) -> bool:
    """Whether a field, header or option of this name holds a credential."""
    return _FIELD.fullmatch(name) is not None


def redact(value: Any) -> Any:
    """`value` (text, or mappings and lists of it) with every credential replaced by `***`."""
    if isinstance(value, str):
        return _hide(value)
    if isinstance(value, Mapping):
        return {
            name: HIDDEN if isinstance(inner, str) and inner and names_a_secret(str(name))
            else redact(inner)
            for name, inner in value.items()
        }  # fmt: skip
    if isinstance(value, list | tuple):
        return [redact(inner) for inner in value]
    return value


def _hide(text: str) -> str:
    for secret in sorted(_given | _in_environment(), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    for pattern, shown in _PATTERNS:
        text = pattern.sub(shown, text)
    return text


def _in_environment() -> set[str]:
    return {
        value
        for name, value in os.environ.items()
        if len(value) >= _SHORTEST and _VARIABLE.search(name)
    }
