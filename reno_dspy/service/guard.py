"""What stands before every request: who may ask, how much, and what is told of a failure.

Nothing of a request is logged: neither its body nor its address's query, nor an exception's message,
which may repeat them.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
import traceback
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reno_dspy.service.limits import Limits
from reno_dspy.service.metrics import Metrics

# What needs no token: whether the service lives, and the page, which asks people for theirs.
_OPEN = ("/", "/health", "/openapi.json", "/page/")
_LOG = logging.getLogger(__name__)


@dataclass
class _Sent:
    """The status of the answer so far; 0 before it has begun."""

    status: int = 0


class Guard:
    """ASGI middleware that holds requests to `limits`.

    With a `token`, requests need it. `hosts` are the names by which this service may be called, where
    they are known: a page of another site that has its name point here is refused (DNS rebinding).
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: Limits,
        metrics: Metrics,
        token: str | None = None,
        hosts: Collection[str] | None = None,
    ) -> None:
        self._app, self._limits, self._metrics = app, limits, metrics
        self._token, self._hosts = token, hosts
        self._under_way: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        address = (scope.get("client") or ("",))[0]
        start, sent = time.perf_counter(), _Sent()
        self._under_way[address] += 1
        try:
            await self._answer(scope, receive, _noting(send, sent), address, sent)
        finally:
            self._under_way[address] -= 1
            if not self._under_way[address]:
                del self._under_way[address]
            route = getattr(scope.get("route"), "path", "none")
            self._metrics.requests.labels(route, sent.status).inc()
            self._metrics.seconds.labels(route).observe(time.perf_counter() - start)

    async def _answer(
        self, scope: Scope, receive: Receive, send: Send, address: str, sent: _Sent
    ) -> None:
        refusal = self._refusal(scope, address)
        try:
            if refusal is None:
                await self._app(scope, self._limited(receive), send)
        except ClientDisconnect:
            pass
        except Exception as error:
            _LOG.error("%s", _where(error))
            refusal = _sentence(500, f"The service failed ({type(error).__name__}).")
        if refusal is not None and not sent.status:
            await refusal(scope, receive, send)

    def _refusal(self, scope: Scope, address: str) -> JSONResponse | None:
        """Why the request is not passed on; None where it is."""
        headers = Headers(scope=scope)
        if self._hosts is not None and _host(headers) not in self._hosts:
            return _sentence(421, "This service is not called by that name.")
        if not self._may_ask(scope["path"], headers):
            return _sentence(
                401,
                "This service needs its token: Authorization: Bearer TOKEN.",
                {"WWW-Authenticate": "Bearer"},
            )
        if self._under_way[address] > self._limits.requests:
            return _sentence(
                429,
                f"At most {self._limits.requests} requests of one address at the same time.",
                {"Retry-After": "1"},
            )
        length = headers.get("content-length", "")
        if length.isdigit() and int(length) > self._limits.body_bytes:
            return _sentence(413, self._too_large)
        return None

    def _may_ask(self, path: str, headers: Headers) -> bool:
        if self._token is None or path in _OPEN or path.startswith(_OPEN[-1]):
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        right = hmac.compare_digest(given.strip().encode(), self._token.encode())
        return scheme.lower() == "bearer" and right

    @property
    def _too_large(self) -> str:
        return f"The body is larger than {self._limits.body_mb} MB."

    def _limited(self, receive: Receive) -> Receive:
        """`receive` within the limits of a body. It raises HTTPException."""
        deadline = time.monotonic() + self._limits.body_seconds
        size, whole = 0, False

        async def limited() -> Message:
            nonlocal size, whole
            if whole:  # only the end of the connection is left to wait for
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), deadline - time.monotonic())
            except TimeoutError:
                raise HTTPException(
                    408, f"The body took more than {self._limits.body_seconds:g} s."
                ) from None
            size += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            if size > self._limits.body_bytes:
                raise HTTPException(413, self._too_large)
            return message

        return limited


def _noting(send: Send, sent: _Sent) -> Send:
    async def noted(message: Message) -> None:
        if message["type"] == "http.response.start":
            sent.status = message["status"]
        await send(message)

    return noted


def _sentence(status: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"detail": detail}, status, headers)


def _host(headers: Headers) -> str:
    """The name by which the client called, without a port."""
    try:
        return urlsplit(f"//{headers.get('host', '')}").hostname or ""
    except ValueError:
        return ""


def _where(error: Exception) -> str:
    """The kind of an exception and where it was raised, without its message."""
    frames = traceback.extract_tb(error.__traceback__)
    at = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"A request failed: {type(error).__name__}{at}"
