"""Serve a system, with the page, until it is stopped.

reno serve tagger [--corrections DIR]
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from pydantic import Field

from reno_dspy.base.config import Free
from reno_dspy.base.listening import LOOPBACK, address_of, listening, run_app
from reno_dspy.base.secrets import keep_secret
from reno_dspy.service.app import create_app
from reno_dspy.service.corrections import CorrectionStore, corrections_router
from reno_dspy.service.export import export_router
from reno_dspy.service.limits import Limits
from reno_dspy.service.page import page_router
from reno_dspy.service.protocol import protocol_within
from reno_dspy.systems import System
from reno_dspy.systems.options import SystemOptions

TOKEN_VARIABLE = "RENO_TOKEN"
# GROBID's, which its clients ask unless they are told otherwise.
PORT = 8070


class ServiceConfig(SystemOptions):
    """Options of `reno serve` for a system."""

    host: Free[str] = Field("127.0.0.1", description="Address to listen on.")
    port: Free[int] = Field(PORT, ge=0, lt=1 << 16, description="Port; 0 takes any free one.")
    corrections: Free[Path | None] = Field(
        None, description="Folder in which the page saves corrections."
    )
    limits: Free[Limits] = Limits()


def serve(
    config: ServiceConfig, system: System, ready: Callable[[str], None], warn: Callable[[str], None]
) -> None:
    """Serve `system` until SIGTERM or Ctrl-C; `ready` is called with the address once it answers.

    `warn` gets a sentence when anybody in the network may ask. Raises InputError for a port in use, for
    corrections that cannot be opened, and, as JobError, what the system raises when it does not start.
    """
    token = os.environ.get(TOKEN_VARIABLE) or None
    keep_secret(token)
    is_local = config.host in LOOPBACK
    if not is_local and token is None:
        warn(
            f"Everybody who reaches {config.host} may ask this service, and see and change what is saved. "
            f"Set {TOKEN_VARIABLE} to a secret that clients must send."
        )
    with ExitStack() as stack:
        listener = stack.enter_context(listening(config.host, config.port))
        # Here its errors reach the caller; starting again, in the server's loop, loads nothing again.
        asyncio.run(system.start())
        folder = config.corrections
        store = stack.enter_context(CorrectionStore.open(folder)) if folder else None
        routers = (corrections_router(store), export_router(), page_router(saves=store is not None))
        # A proxy before the service may call it by any name, and then it should have a token.
        hosts = LOOPBACK if is_local and token is None else None
        app = create_app(system, config.limits, token, hosts=hosts, routers=routers)
        run_app(
            app,
            listener,
            lambda: ready(address_of(listener)),
            http=protocol_within(config.limits),
            ws="none",
            access_log=False,
        )
