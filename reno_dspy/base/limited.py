"""Functions of ours in a child process, under a limit of time and one of memory.

What a hostile PDF or text does to a library then costs one error and one restart of the child, not the job.
Arguments and results are JSON values, one line each.

    python -P -m reno_dspy.base.limited MODULE:FUNCTION MEGABYTES      # the child; `Limited` starts it
"""

from __future__ import annotations

import importlib
import json
import math
import os
import resource
import select
import subprocess
import sys
from collections.abc import Callable
from typing import IO, Any

from reno_dspy.base.child_server import child_environment, python_module
from reno_dspy.base.errors import JobError

# What a call may take unless told otherwise: more than anything that is not hostile.
TIMEOUT_S, MEMORY_MB = 60.0, 2048
# CPU seconds that a child may take beyond its time limit, should its parent be gone and not kill it.
_GRACE_SECONDS = 10


class NotDone(Exception):
    """A call passed a limit, or failed; the message says which and is meant for people."""


class Limited:
    """Calls `function` (`module:name`) in a child process, which is started again after a failure.

    `what` it does starts the messages (`converting`), `memory_mb` is the child's whole address space.
    """

    def __init__(self, function: str, what: str, memory_mb: int) -> None:
        self._function, self._what, self._memory_mb = function, what, memory_mb
        self._process: subprocess.Popen[str] | None = None

    def call(self, *arguments: Any, timeout_s: float) -> Any:
        """What the function returns for `arguments`, within so many seconds of the clock.

        Raises NotDone when it does not, and JobError when the child does not start.
        """
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps([timeout_s, *arguments]) + "\n")
            process.stdin.flush()
            in_time, _, _ = select.select([process.stdout], [], [], timeout_s)
            answer = process.stdout.readline() if in_time else ""
        except BrokenPipeError:
            in_time, answer = [process.stdout], ""
        if answer:
            return self._result(json.loads(answer))
        self.close()
        if in_time:
            raise NotDone(f"{self._what} crashed or passed its memory limit ({self._memory_mb} MB)")
        raise NotDone(f"{self._what} took more than {timeout_s:g} s")

    def _result(self, answer: dict[str, Any]) -> Any:
        if "failed" in answer:
            raise NotDone(f"{self._what} failed ({answer['failed']})")
        return answer["result"]

    def close(self) -> None:
        """End the child, whatever it is doing; another call starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            command = python_module(__name__, self._function, str(self._memory_mb))
            self._process = subprocess.Popen(
                command,
                env=child_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
            )
            assert self._process.stdout is not None
            # The first line says that the imports are done, so that they do not count.
            if not self._process.stdout.readline():
                self.close()
                raise JobError(
                    f"The process for {self._what} does not start. To see why, run "
                    f"`{' '.join(command)}`."
                )
        return self._process


def _work(function: Callable[..., Any], requests: IO[str], answers: IO[str]) -> None:
    """Call `function` with what each line asks for, until the input ends."""
    print("ready", file=answers, flush=True)
    for request in requests:
        timeout_s, *arguments = json.loads(request)
        _limit_cpu(timeout_s)
        try:
            answer = {"result": function(*arguments)}
        except MemoryError:
            answer = {"failed": "it needs more memory than its limit"}
        except Exception as error:  # one article's failure must not be that of all
            answer = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


def _limit_cpu(timeout_s: float) -> None:
    """Let the system end this process some time after the limit: nobody else may be left to do it."""
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    _limit(resource.RLIMIT_CPU, math.ceil(used + timeout_s) + _GRACE_SECONDS)


def _limit(what: int, value: int) -> None:
    """Set a limit of this process, as far as the machine's own limit lets us."""
    _, highest = resource.getrlimit(what)
    if highest != resource.RLIM_INFINITY:
        value = min(value, highest)
    resource.setrlimit(what, (value, highest))


def _main(name: str, memory_mb: int) -> None:
    module, _, function = name.partition(":")
    called = getattr(importlib.import_module(module), function)
    # What a library prints, Python or not, must not stand among the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _limit(resource.RLIMIT_AS, memory_mb << 20)
    _work(called, sys.stdin, answers)


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]))
