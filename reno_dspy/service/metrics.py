"""What a Prometheus server may know: counts, sizes and times, and nothing that anybody sent."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest


class Metrics:
    """The metrics of one service, in a registry of their own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "reno_requests", "Requests by route and status.", ["route", "status"],
            registry=self._registry,
        )  # fmt: skip
        self.seconds = Histogram(
            "reno_request_seconds", "Time from a request's head to the end of its answer.", ["route"],
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
            registry=self._registry,
        )  # fmt: skip
        self.references = Counter(
            "reno_references", "References by outcome.", ["outcome"], registry=self._registry
        )
        self.batches = Histogram(
            "reno_batch_references", "References of one batch.",
            buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256), registry=self._registry,
        )  # fmt: skip
        self.waiting = Gauge(
            "reno_waiting_references", "References that wait.", registry=self._registry
        )

    def text(self) -> bytes:
        """All of them in Prometheus's text format."""
        return generate_latest(self._registry)
