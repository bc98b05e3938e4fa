"""Running an HTTP application in this process until somebody stops it."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from reno_dspy.base.child_server import url_of
from reno_dspy.base.errors import InputError

# Where only this machine can ask.
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any free one. Raises InputError for a port in use."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise InputError(
            f"Cannot listen on {host}:{port} ({error.strerror}). "
            "Name another --port, or 0 for any free one."
        ) from error
    return listener


def address_of(listener: socket.socket) -> str:
    """The address by which this machine reaches what listens there."""
    host, port = listener.getsockname()[:2]
    return url_of(host, port)


def run_app(app: Any, listener: socket.socket, ready: Callable[[], None], **options: Any) -> None:
    """Serve the ASGI application `app` until SIGTERM or Ctrl-C; `ready` is called once it answers.

    `options` go to uvicorn's configuration.
    """
    import uvicorn

    class Server(uvicorn.Server):  # type: ignore[misc]
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if not self.should_exit:
                ready()

    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2, **options)
    # After a clean stop uvicorn raises the signal again; both then mean Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        Server(config).run(sockets=[listener])
