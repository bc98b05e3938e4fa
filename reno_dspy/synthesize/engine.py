"""The CSL processor: citeproc-js in a child process of Node.

It is neither shipped nor imported. The other processor, citeproc-py, needs no Node, but it fails on 3% of
references and prints 40% otherwise than citeproc-js does, which most reference managers use.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any

from reno_dspy.base.errors import InputError, JobError
from reno_dspy.base.files import cache_dir

SCRIPT = Path(__file__).with_name("engine.js")
# A style that takes longer for some fifty references than this does not end.
_PATIENCE_S = 120


class EngineFailure(Exception):
    """The processor died or did not answer; the next request starts a new one."""


@dataclass(frozen=True)
class Printed:
    """What the processor made of one item: its text with marks, or why there is none."""

    text: str | None
    dropped: str | None = None


class Engine:
    """A Node process with citeproc-js; started at the first request, ended on `close`."""

    def __init__(self, locales: Path) -> None:
        """Use the CSL locales in the folder `locales`."""
        self._locales = locales
        self._process: subprocess.Popen[str] | None = None
        self.version = ""

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> subprocess.Popen[str]:
        """Start the process, if it does not run. Raises InputError when Node or citeproc is missing."""
        if self._process is not None:
            return self._process
        node = shutil.which("node")
        if node is None:
            raise InputError(f"`reno synthesize` needs Node.js 18 or newer. {_how_to_install()}")
        process = self._process = subprocess.Popen(
            [node, str(SCRIPT), str(self._locales), *map(str, _folders())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        hello = _read(process)
        if "missing" in hello:
            self.close()
            raise InputError(f"The Node package citeproc was not found. {_how_to_install()}")
        self.version = hello["citeproc"]
        return process

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def render(
        self, style: Path, locale: str | None, items: Sequence[Mapping[str, Any]], *, note: bool
    ) -> list[Printed]:
        """Each of `items` (CSL-JSON) in `style`, by itself; as in a footnote for `note`.

        `locale` overrides the style's own. Raises EngineFailure, also when the style cannot be used.
        """
        process = self._process or self.start()
        request = {"style": str(style), "locale": locale, "items": list(items), "note": note}
        answer = self._ask(process, json.dumps(request))
        if "error" in answer:
            raise EngineFailure(answer["error"])
        return [Printed(one.get("text"), one.get("dropped")) for one in answer["rendered"]]

    def _ask(self, process: subprocess.Popen[str], line: str) -> dict[str, Any]:
        assert process.stdin is not None
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            return _read(process)
        except (OSError, JobError) as error:
            self.close()
            raise EngineFailure(str(error)) from None


def _read(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    timer = Timer(_PATIENCE_S, process.kill)
    timer.start()
    try:
        line = process.stdout.readline()
    finally:
        timer.cancel()
    if not line:
        raise JobError("The CSL processor ended without an answer. Try it again.")
    answer: dict[str, Any] = json.loads(line)
    return answer


def _folders() -> list[Path]:
    """Where the package is looked for."""
    return [cache_dir() / "node", Path.cwd()]


def _how_to_install() -> str:
    return f"Install Node.js, then: npm install --prefix {cache_dir() / 'node'} citeproc"
