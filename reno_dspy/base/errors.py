"""Errors that a user can act on.

    RenoError
    ├── InputError   the request is wrong (file, option, data): exit code 2
    └── JobError     the request was right and the job failed (endpoint, disk, budget): exit code 1

A message says what is wrong, where, and what to do next. The command line prints it without a
traceback; library callers catch `RenoError`.
"""


class RenoError(Exception):
    """Base of every error that this project raises on purpose."""

    exit_code = 1


class InputError(RenoError):
    """What was asked for cannot be done as asked; nothing was changed."""

    exit_code = 2


class JobError(RenoError):
    """A job failed on the way; what it had finished is kept and a rerun resumes."""
