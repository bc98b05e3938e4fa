"""Scale-out: the stages of a build as maps over Ray Data (`pip install 'reno-dspy[ray]'`).

    reno build --corpus CORPUS --out OUT --engine ray

Joins the cluster that `RAY_ADDRESS` names, or starts one on this machine. The articles' files must be where
every node sees them; rows come back in order, so that the data set is the local engine's, byte for byte.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from reno_dspy.base.errors import InputError

Record = dict[str, Any]


class RayEngine:
    """Maps functions over records in the order given, on a Ray cluster."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._started = False

    def __enter__(self) -> RayEngine:
        return self

    def __exit__(self, *_: object) -> None:
        if self._started:
            import ray

            ray.shutdown()

    def _start(self) -> None:
        """Join or start a cluster, on first use: a build of which all is done needs none."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError:
            raise InputError(
                "--engine ray needs Ray, which is not installed: pip install 'reno-dspy[ray]'."
            ) from None
        own = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": self._count}
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR", **own)
        context = ray.data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        self._started = True

    def map(
        self, function: Callable[[Record], Record], items: Iterable[Record]
    ) -> Iterator[Record]:
        """`function` of each record, in order.

        Records travel as JSON: Arrow would give their nested lists one type for all rows.
        """
        if not self._started:
            self._start()
        import ray

        rows = [{"json": json.dumps(item)} for item in items]
        data = ray.data.from_items(rows).map(functools.partial(_apply, function))
        for row in data.iter_rows():
            yield json.loads(row["json"])


def _apply(function: Callable[[Record], Record], row: Record) -> Record:
    return {"json": json.dumps(function(json.loads(row["json"])))}
