"""Systems: anything that turns references into annotations, behind one small interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

# What a language model's answer is held to: `programs/constrain.py`.
Constrain = Literal["copy", "wellformed", "none"]


@dataclass(frozen=True)
class Completion:
    """A system's raw answer for one reference, before any reading.

    `error` is set when the request failed; `text` is then empty. `finish_reason` is the LM server's
    word (`stop`, `length` = truncated); tokens are counts, `latency_s` seconds, `cost` US dollars.
    """

    text: str
    error: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_s: float | None = None
    cost: float | None = None


class System(Protocol):
    """References in, raw completions out, in the same order and number.

    A job awaits `start` once, before the first call of `annotate`, and then makes calls of at most
    `batch_size` references, `concurrency` of them at once.
    """

    name: str
    batch_size: int
    concurrency: int

    def identity(self) -> Mapping[str, str]:
        """What the answers depend on (model, prompt digest, adapter digest, ...), for lineage."""
        ...

    async def start(self) -> Completion | None:
        """Get ready to answer: load the model, or check that the endpoint answers a trial request.

        What that request took is returned: it is no answer of the job, but its tokens are paid for.
        Raises InputError or JobError when it fails. Starting again loads nothing again.
        """
        ...

    async def annotate(self, references: Sequence[str]) -> list[Completion]:
        """Annotate references. A failure is a Completion with `error`, never an exception."""
        ...


@runtime_checkable
class PromptedSystem(System, Protocol):
    """A system that asks a language model, in words that people may want to read and compare."""

    def prompt_text(self) -> str:
        """The instructions and the worked examples."""
        ...


@runtime_checkable
class ClosableSystem(System, Protocol):
    """A system that leaves something running, such as a server of its own, until it is closed."""

    def close(self) -> None:
        """End what was started."""
        ...
