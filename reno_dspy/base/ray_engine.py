"""The engine of many machines: workers are actors on a Ray cluster (`pip install 'reno-dspy[ray]'`).

Joins the cluster that `RAY_ADDRESS` names, or starts one on this machine. This package must be installed
on every node, and files that items name must be where every node sees them. Ray replaces an actor that
dies, or whose node does, and gives it its item again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from reno_dspy.base.engine import Engine, In, Out, Outcome, Worker, outcome
from reno_dspy.base.errors import InputError, JobError
from reno_dspy.base.extras import require

# How often an item is tried again when its actor dies: more often than locally, since whole nodes leave.
_RETRIES = 3
# Items go from one process to another and are not kept: Ray would take a third of the memory.
_STORE_BYTES = 128 << 20


class RayEngine(Engine):
    """Actors, a core each."""

    def _start(self) -> Sequence[Worker]:
        """Join or start a cluster. Raises JobError when that fails, InputError when cores are too few."""
        require("ray", "--engine ray")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        own: dict[str, Any] = {}
        if not os.environ.get("RAY_ADDRESS"):
            own = {"num_cpus": self.count, "object_store_memory": _STORE_BYTES}
        try:
            ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR", **own)
        except Exception as error:  # of any kind: Exception itself, on a machine that is too busy
            ray.shutdown()
            what = "start Ray" if own else "join the Ray cluster of RAY_ADDRESS"
            raise JobError(f"Cannot {what}: {_last_line(error)}") from error
        there = int(ray.cluster_resources().get("CPU", 0))
        if there < self.count:
            ray.shutdown()
            raise InputError(
                f"The Ray cluster has {there} cores, too few for {self.count} workers. Add nodes, or give "
                f"--workers {there}."
            )
        return [RayWorker() for _ in range(self.count)]

    def close(self) -> None:
        """End the actors, and the cluster if it was started here."""
        started = bool(self._workers)
        super().close()
        if started:
            import ray

            ray.shutdown()


class RayWorker:
    """An actor."""

    def __init__(self) -> None:
        import ray

        options = {"num_cpus": 1, "max_restarts": -1, "max_task_retries": _RETRIES}
        self._actor = ray.remote(**options)(_Actor).remote()

    def call(self, function: Callable[[In], Out], item: In) -> Outcome:
        """`function` of `item`. See `Worker`."""
        import ray

        try:
            answer: Outcome = ray.get(self._actor.call.remote(function, item))
        except ray.exceptions.RayError as error:
            raise JobError(
                f"A worker on Ray died of the same work {_RETRIES + 1} times: {_last_line(error)} If "
                "memory ran out, run again with fewer --workers."
            ) from error
        return answer

    def close(self) -> None:
        """End the actor for good."""
        import ray

        ray.kill(self._actor)


class _Actor:
    def call(self, function: Callable[[In], Out], item: In) -> Outcome:
        return outcome(function, item)


def _last_line(error: Exception) -> str:
    """What an error of Ray says at its end, after the names of actors and nodes, or a traceback."""
    return next((line for line in reversed(str(error).splitlines()) if line.strip()), repr(error))
