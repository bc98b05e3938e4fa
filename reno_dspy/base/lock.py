"""A lock that one process holds, and that says which one when another process asks for it."""

from __future__ import annotations

import fcntl
import os
import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reno_dspy.base.errors import InputError
from reno_dspy.base.secrets import redact


@contextmanager
def locked(path: Path, what: str, instead: str = "name another --out") -> Iterator[None]:
    """Hold the lock file `path` for the length of the block; then the file is removed.

    Raises InputError when another process holds it, saying that `what` is in use, by which process, and
    what to do `instead` of waiting;
    OSError when the file cannot be created. A killed process leaves the file, but its lock ends with it.
    A file system without locks is no error: then nothing is locked.
    """
    descriptor = _acquire(path, what, instead)
    try:
        os.truncate(descriptor, 0)
        os.write(descriptor, _this_process().encode("utf-8", "replace"))
        yield
    finally:
        # Removed while locked: a process that has opened it meanwhile sees that it is gone, and retries.
        if _is_at(path, descriptor):
            path.unlink(missing_ok=True)
        os.close(descriptor)


def _acquire(path: Path, what: str, instead: str) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 1000).decode("utf-8", "replace")
            os.close(descriptor)
            raise InputError(
                f"{what} is in use by {holder or 'another process'}. Wait for it to end, or "
                f"{instead}."
            ) from None
        except OSError:
            return descriptor
        if _is_at(path, descriptor):
            return descriptor
        os.close(descriptor)


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether `path` is still the file that was opened, and not one that its holder removed."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _this_process() -> str:
    name = Path(sys.argv[0]).name
    if name == "__main__.py" and (spec := sys.modules["__main__"].__spec__):
        name = f"python -m {spec.parent}"
    command = redact(" ".join([name, shlex.join(sys.argv[1:])]))
    return f"process {os.getpid()} on {socket.gethostname()} (`{command[:300]}`)"
