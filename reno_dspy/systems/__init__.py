"""Systems: anything that turns references into annotations, behind one small interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypedDict, runtime_checkable

# What a language model's answer is held to: `programs/constrain.py`.
Constrain = Literal["copy", "wellformed", "none"]


class ValueJson(TypedDict):
    """A value and its confidence in JSON lines."""

    field: str
    value: str
    confidence: float | None


class ConfidenceJson(TypedDict):
    """A confidence in JSON lines, its probabilities with four decimals."""

    confidence: float
    values: list[ValueJson]


@dataclass(frozen=True)
class ValueConfidence:
    """How sure a system is of one value: that the field has exactly these words.

    `probability` is None for what was not judged, such as an identifier that is found by its form.
    """

    field: str
    value: str
    probability: float | None


@dataclass(frozen=True)
class Confidence:
    """How sure a system is of its annotation.

    `whole` is the probability that every scored field has exactly the right values. `values` are those of
    the annotation, in its order.
    """

    whole: float
    values: tuple[ValueConfidence, ...] = ()

    def to_json(self) -> ConfidenceJson:
        """`confidence` of the whole, and `values` with a `confidence` each."""
        return {
            "confidence": round(self.whole, 4),
            "values": [
                {"field": one.field, "value": one.value, "confidence": _short(one.probability)}
                for one in self.values
            ],
        }


def _short(probability: float | None) -> float | None:
    return None if probability is None else round(probability, 4)


@dataclass(frozen=True)
class Completion:
    """A system's raw answer for one reference, before any reading.

    `error` is set when the request failed; `text` is then empty. `finish_reason` is the LM server's
    word (`stop`, `length` = truncated); tokens are counts, `latency_s` seconds, `cost` US dollars.
    `confidence` is None for a system that knows none.
    """

    text: str
    error: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_s: float | None = None
    cost: float | None = None
    confidence: Confidence | None = None


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
