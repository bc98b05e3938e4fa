"""Values of columns as they are found in files: text, yes or no, a number, or nothing.

JSON and Parquet let anything stand in a column. A number that names an article is text here, so that it
cannot be taken for a place in a list, and NaN (pandas' nothing) is nothing.
"""

from __future__ import annotations

import math
from typing import Any

from reno_dspy.base.errors import InputError


def text(value: Any, where: str) -> str | None:
    """Text. Raises InputError naming `where` for anything else."""
    return None if is_nothing(value) else _of(str, value, where, "text")


def label(value: Any, where: str) -> str | None:
    """Text, or a whole number as its digits. Raises InputError naming `where` for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text(value, where)


def flag(value: Any, where: str) -> bool | None:
    """True or False. Raises InputError naming `where` for anything else."""
    return None if is_nothing(value) else _of(bool, value, where, "true or false")


def number(value: Any, where: str) -> float | None:
    """A number. Raises InputError naming `where` for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return None if is_nothing(value) else _of(float, value, where, "a number")


def is_nothing(value: Any) -> bool:
    """Whether a value stands for an empty cell."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _of(kind: type[Any], value: Any, where: str, wanted: str) -> Any:
    if isinstance(value, kind):
        return value
    raise InputError(f"{where} must be {wanted} or null, not {value!r:.80}.")
