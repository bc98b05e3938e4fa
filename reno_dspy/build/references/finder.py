"""The rules of `find` under a limit of time and memory: no text can hold up a build of many.

The rules take time in proportion to the text (tested on texts made to be slow); this is for what nobody
thought of.
"""

from __future__ import annotations

import atexit
import functools
from dataclasses import asdict
from typing import Any

from reno_dspy.base.limited import MEMORY_MB, TIMEOUT_S, Limited
from reno_dspy.build.references.cut import Listed
from reno_dspy.build.references.find import Verified, extract, find_list, verify

_HERE = "reno_dspy.build.references.finder"
_WHAT = "finding references"


class Finder:
    """Finds reference lists in a child process, within `timeout_s` seconds and `memory_mb` of memory.

    Use it as a context manager: the child ends with it. Both methods raise `limited.NotDone`.
    """

    def __init__(self, timeout_s: float = TIMEOUT_S, memory_mb: int = MEMORY_MB) -> None:
        self._timeout_s = timeout_s
        self._verified = Limited(f"{_HERE}:_extract_and_verify", _WHAT, memory_mb)
        self._listed = Limited(f"{_HERE}:_find_list", _WHAT, memory_mb)

    def __enter__(self) -> Finder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the child process; another text starts another."""
        self._verified.close()
        self._listed.close()

    def extract(self, markdown: str) -> Verified:
        """The references of an article, as `find.extract` and `find.verify` give them."""
        found = self._verified.call(markdown, timeout_s=self._timeout_s)
        return Verified(tuple(found["references"]), tuple(found["hallucinated"]), found["repeated"])

    def find_list(self, markdown: str) -> list[Listed]:
        """The references of an article with their labels, as `find.find_list` gives them."""
        found = self._listed.call(markdown, timeout_s=self._timeout_s)
        return [Listed(**reference) for reference in found]


@functools.cache
def shared_finder(timeout_s: float, memory_mb: int) -> Finder:
    """This process's finder; its child ends when this process does."""
    finder = Finder(timeout_s, memory_mb)
    atexit.register(finder.close)
    return finder


def _extract_and_verify(markdown: str) -> dict[str, Any]:
    return asdict(verify(extract(markdown), markdown))


def _find_list(markdown: str) -> list[dict[str, str]]:
    return [asdict(reference) for reference in find_list(markdown)]
