"""What GEPA can optimize: annotating references, or extracting them from an article's text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import dspy

from programs.annotate import AnnotateReference
from programs.config import OptimizeConfig
from programs.extract import ExtractReferences
from programs.optimize.chunks import Chunk, digest_chunks
from programs.optimize.extraction_feedback import make_extraction_metric
from programs.optimize.feedback import Metric, make_metric
from programs.preflight import REFERENCE
from programs.prompts import Prompt
from reno_dspy.data.dataset import Row, digest_rows


class Task(Protocol):
    """A program, the examples it is shown, and how its answers are scored.

    `version` is raised by a change after which the same prompt is asked otherwise, or the same answer
    gets another score or feedback: jobs that began before do not resume then.
    `trial` are the inputs of a trial request; `may_be_empty` says whether an empty answer is one.
    """

    version: int
    trial: Mapping[str, str]
    may_be_empty: bool

    def program(self, prompt: Prompt) -> dspy.Module:
        """The module to optimize, as `prompt` has it."""

    def example(self, item: Any) -> dspy.Example:
        """One item of data as DSPy takes it."""

    def metric(self, config: OptimizeConfig) -> Metric:
        """The GEPA metric."""

    def digest(self, items: Sequence[Any]) -> str:
        """The digest of a sample of items."""

    def cluster(self, item: Any) -> str | None:
        """The citing article of an item."""

    def text(self, item: Any) -> str:
        """What the LM reads of an item."""


class Annotating:
    """Reference -> annotation; items are `reno_dspy.data.dataset.Row`."""

    version = 1
    trial: Mapping[str, str] = {"reference": REFERENCE}
    may_be_empty = False

    def program(self, prompt: Prompt) -> dspy.Module:
        """`AnnotateReference`."""
        return AnnotateReference(prompt)

    def example(self, item: Row) -> dspy.Example:
        """The reference as input, its gold XML beside it."""
        return dspy.Example(reference=item.plaintext, gold=item.xml).with_inputs("reference")

    def metric(self, config: OptimizeConfig) -> Metric:
        """`programs.optimize.feedback`."""
        return make_metric(config.objective, config.feedback_chars)

    def digest(self, items: Sequence[Row]) -> str:
        """The data set's digest of these rows."""
        return digest_rows(items)

    def cluster(self, item: Row) -> str | None:
        """The row's citing article."""
        return item.cluster

    def text(self, item: Row) -> str:
        """The reference."""
        return item.plaintext or ""


class Extracting:
    """Markdown chunk -> references; items are `programs.optimize.chunks.Chunk`."""

    version = 1
    trial: Mapping[str, str] = {"chunk": f"References\n{REFERENCE}"}
    may_be_empty = True

    def program(self, prompt: Prompt) -> dspy.Module:
        """`ExtractReferences`."""
        return ExtractReferences(prompt)

    def example(self, item: Chunk) -> dspy.Example:
        """The chunk as input, its references beside it."""
        return dspy.Example(chunk=item.text, gold=item.references).with_inputs("chunk")

    def metric(self, config: OptimizeConfig) -> Metric:
        """`programs.optimize.extraction_feedback`."""
        return make_extraction_metric(config.feedback_chars)

    def digest(self, items: Sequence[Chunk]) -> str:
        """The digest of these chunks."""
        return digest_chunks(items)

    def cluster(self, item: Chunk) -> str | None:
        """The chunk's article."""
        return item.article

    def text(self, item: Chunk) -> str:
        """The chunk."""
        return item.text
