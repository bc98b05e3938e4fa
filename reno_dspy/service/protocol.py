"""HTTP connections that cannot be held open by doing nothing.

uvicorn limits the time between two requests, but not that of a request's head, and waits for ever for a
client that does not take its answer.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from reno_dspy.service.limits import Limits


def protocol_within(limits: Limits) -> type[asyncio.Protocol]:
    """The protocol class for uvicorn's `http` option."""

    class LimitedProtocol(_LimitedProtocol):
        _limits = limits

    return LimitedProtocol


class _LimitedProtocol(H11Protocol):  # type: ignore[misc]
    _limits: Limits

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._head: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections:
            transport.abort()
        else:
            self._expect_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._request_came()
        elif self._head is None:
            # The next request has begun; or what comes is a body that was refused already.
            self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._request_came()
        self._answer_taken()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client does not take its answer as fast as it is sent."""
        super().pause_writing()
        self._stuck = self.loop.call_later(self._limits.body_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._answer_taken()
        super().resume_writing()

    def _expect_request(self) -> None:
        self._head = self.loop.call_later(self._limits.head_seconds, self.transport.abort)

    def _request_came(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _answer_taken(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None
