"""A system that runs in this program, on several workers: processes of this machine, or a Ray cluster.

    reno annotate refs.txt --out refs.xml --workers 4

The job sees one system that takes several batches at once. Each worker opens the system for itself.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar

from reno_dspy.base.engine import open_engine
from reno_dspy.base.errors import InputError, JobError
from reno_dspy.systems import ClosableSystem, Completion, System, registry
from reno_dspy.systems.calibration import Calibration
from reno_dspy.systems.options import SystemOptions

In = TypeVar("In")
Out = TypeVar("Out")
Identity = tuple[tuple[str, str], ...]
# Batches with a worker: one more than it works on, so that it need not wait for the next.
_AHEAD = 2


class OnWorkers:
    """`system`, whose answers come from workers that open it by `options`.

    A batch is the system's own: with any number of workers it has the same references.
    """

    def __init__(self, system: System, options: SystemOptions) -> None:
        self.name, self.batch_size = system.name, system.batch_size
        self.concurrency = _AHEAD * options.workers
        # `--accept` chooses a threshold from it.
        self.calibration: Calibration | None = getattr(system, "calibration", None)
        self._system = system
        self._given = _for_a_worker(options), tuple(sorted(system.identity().items()))
        self._engine = open_engine(options.engine, options.workers)

    def identity(self) -> Mapping[str, str]:
        """That of the system: where it runs makes no difference."""
        return self._system.identity()

    async def start(self) -> None:
        """Start the workers, and the system in each. Raises as the system's own `start`."""
        await asyncio.gather(*(self._ask(_start, None) for _ in range(self._engine.count)))

    async def annotate(self, references: Sequence[str]) -> list[Completion]:
        """Annotate references on a worker; a batch of which workers die is error rows."""
        try:
            return await self._ask(_annotate, references)
        except JobError as error:
            return [Completion("", error=str(error)) for _ in references]

    def close(self) -> None:
        """End the workers."""
        self._engine.close()
        if isinstance(self._system, ClosableSystem):
            self._system.close()

    async def _ask(self, function: Callable[[SystemOptions, Identity, In], Out], item: In) -> Out:
        return await asyncio.wrap_future(self._engine.submit(partial(function, *self._given), item))


def _for_a_worker(options: SystemOptions) -> SystemOptions:
    """The options that name the system, for a process that may have another working directory."""
    system, adapter = options.system, options.adapter
    if registry.is_file(system):
        system = str(Path(system).absolute())
    return SystemOptions(system=system, adapter=adapter and adapter.absolute())


@lru_cache(maxsize=1)
def _opened(options: SystemOptions, identity: Identity) -> tuple[System, asyncio.Runner]:
    """The system of this process, started, and the loop that it runs in.

    Raises InputError when it is not the one that the job has: answers of two models must not mix.
    """
    system = registry.create(options, Path(os.devnull))
    if (found := dict(system.identity())) != dict(identity):
        raise InputError(
            f"On {socket.gethostname()}, {options.system} is another model ({found}) than here "
            f"({dict(identity)}). Install the same version of reno-dspy, and the same files, everywhere."
        )
    runner = asyncio.Runner()
    runner.run(system.start())
    return system, runner


def _start(options: SystemOptions, identity: Identity, _: None) -> None:
    _opened(options, identity)


def _annotate(
    options: SystemOptions, identity: Identity, references: Sequence[str]
) -> list[Completion]:
    system, runner = _opened(options, identity)
    return runner.run(system.annotate(references))
