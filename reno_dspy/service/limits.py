"""What one client may cost the others."""

from __future__ import annotations

from pydantic import Field

from reno_dspy.base.config import Config


class Limits(Config):
    """Limits of the service. A request beyond one is refused, or cut, with a sentence that says so."""

    body_mb: int = Field(20, ge=1, description="Largest body of a request, in MB (413).")
    references: int = Field(
        1000, ge=1, description="Most references of a request, and of a PDF (413)."
    )
    streamed: int = Field(
        100_000, ge=1, description="Most references of a request for application/x-ndjson (413)."
    )
    queue: int = Field(
        20_000, ge=1, description="References that wait for the system at once (503)."
    )
    pdfs: int = Field(16, ge=1, description="PDFs that are read or wait for that (503).")
    requests: int = Field(128, ge=1, description="Requests of one address at the same time (429).")
    connections: int = Field(800, ge=1, description="Open connections; more are closed at once.")
    seconds: float = Field(60, gt=0, description="Longest time for an answer, in seconds (503).")
    body_seconds: float = Field(
        60, gt=0, description="Longest time for sending a body, or taking an answer (408)."
    )
    head_seconds: float = Field(
        10, gt=0, description="Longest time until a connection has sent a request's head."
    )

    @property
    def body_bytes(self) -> int:
        """Largest body in bytes."""
        return self.body_mb * 1_000_000
