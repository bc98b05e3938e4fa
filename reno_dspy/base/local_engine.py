"""The engine of one machine: workers are processes, which share its cores and end with their parent.

python -P -m reno_dspy.base.local_engine DESCRIPTOR      # a worker; `LocalEngine` starts it
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from reno_dspy.base.child_server import child_environment, python_module
from reno_dspy.base.engine import Engine, In, Out, Outcome, Worker, cores, outcome
from reno_dspy.base.errors import JobError
from reno_dspy.base.progress import say

# How often an item is given to a worker: one that dies, of whatever, is replaced once.
_TRIES = 2


class LocalEngine(Engine):
    """Processes of this machine. Of a map with one worker, this process is the worker."""

    def _start(self) -> Sequence[Worker]:
        # Libraries that use every core would have the workers fight for them.
        threads = max(1, cores() // self.count)
        return [LocalWorker(threads) for _ in range(self.count)]

    def map(self, function: Callable[[In], Out], items: Iterable[In]) -> Iterator[Out]:
        """`function` of each item, in order."""
        return map(function, items) if self.count == 1 else super().map(function, items)


class LocalWorker:
    """A process that computes on so many `threads`, started with its first call.

    Not one of `multiprocessing`, whose children run the main script again and outlive a killed parent.
    This one reads from a pipe that ends with its parent.
    """

    def __init__(self, threads: int) -> None:
        self._environment = child_environment({"OMP_NUM_THREADS": str(threads)})
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection[Any, Any] | None = None
        self._closed = False
        self._lock = threading.Lock()

    def call(self, function: Callable[[In], Out], item: In) -> Outcome:
        """`function` of `item`; tried on a new process when this one dies. See `Worker`."""
        for tries_left in reversed(range(_TRIES)):
            pipe = self._connected()
            try:
                pipe.send((function, item))
                answer: Outcome = pipe.recv()
                return answer
            except (EOFError, OSError):
                how = self._end()
                if tries_left and not self._closed:
                    say(f"A worker {how}. A new one does its work again.")
        raise JobError(
            f"A worker {how}, and so did the one that took its place. If memory ran out, run again with "
            "fewer --workers."
        )

    def close(self) -> None:
        """End the process for good."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                self._process.kill()
                self._process.wait()

    def _connected(self) -> Connection[Any, Any]:
        with self._lock:
            if self._closed:
                raise JobError("The engine was closed.")
            if self._pipe is None:
                self._pipe, theirs = Pipe()
                descriptor = theirs.fileno()
                self._process = subprocess.Popen(
                    python_module(__name__, str(descriptor)),
                    env=self._environment,
                    pass_fds=[descriptor],
                    stdin=subprocess.DEVNULL,
                    # What a library prints must not stand in an output that is this process's.
                    stdout=sys.__stderr__,
                    # Ctrl-C in a terminal reaches this process alone, which then closes the workers.
                    start_new_session=True,
                )
                theirs.close()
            return self._pipe

    def _end(self) -> str:
        """Forget the process, which has closed its pipe; how it ended, in words."""
        assert self._process is not None
        assert self._pipe is not None
        self._pipe.close()
        code = self._process.wait()
        with self._lock:
            self._process = self._pipe = None
        return f"died of {signal.Signals(-code).name}" if code < 0 else f"ended (exit code {code})"


def _work(pipe: Connection[Any, Any]) -> None:
    """Do what comes through the pipe until the other end is closed."""
    while True:
        try:
            function, item = pipe.recv()
            pipe.send(outcome(function, item))
        except (EOFError, OSError):
            return


if __name__ == "__main__":
    _work(Connection(int(sys.argv[1])))
