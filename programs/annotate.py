"""Reference -> annotation: the DSPy module, and the system that the evaluation measures.

reno evaluate --system programs/recipes/systems/qwen3-0.6b.yaml --data DATA --out DIR
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

import dspy

from programs import prompts
from programs.chat_format import Annotate, PlainAdapter
from programs.config import LMSpec
from programs.constrain import grammar, violation
from programs.lm import LM, make_lm
from programs.preflight import REFERENCE, try_out
from programs.prompts import Prompt
from programs.reply import FAILURE, last_usage
from programs.trouble import explain
from reno_dspy.systems import Completion, Constrain

_UNCONSTRAINED = (
    "The endpoint ignores `structured_outputs`: its answer breaks --constrain, {}. Serve the model "
    "with a vLLM that knows them, or leave --constrain out."
)


class AnnotateReference(dspy.Module):  # type: ignore[misc]
    """One call of the LM: `reference` (plain text) in, `annotation` (its completion, whole) out."""

    def __init__(self, prompt: Prompt) -> None:
        super().__init__()
        self.annotate = dspy.Predict(Annotate.with_instructions(prompt.instructions))
        self.annotate.demos = [
            dspy.Example(**demo.model_dump()).with_inputs("reference") for demo in prompt.demos
        ]

    def forward(self, reference: str) -> dspy.Prediction:
        """Annotate with the LM and adapter of the DSPy context.

        `prompt_chars` is the length of the instructions, for an objective that weighs it; `failure` is
        the reason for a missing answer, where the adapter gives one (that of an optimize run does).
        """
        answer = self.annotate(reference=reference)
        chars = len(self.annotate.signature.instructions)
        failure = {FAILURE: answer.get(FAILURE)}
        return dspy.Prediction(annotation=answer.annotation, prompt_chars=chars, **failure)

    async def aforward(self, reference: str) -> dspy.Prediction:
        """Annotate with the LM and adapter of the DSPy context, asynchronously."""
        return await self.annotate.acall(reference=reference)

    def prompt(self, name: str) -> Prompt:
        """The prompt as it is now, an optimizer's changes included."""
        demos = tuple(
            prompts.Demo(reference=demo["reference"], annotation=demo["annotation"])
            for demo in self.annotate.demos
        )
        return Prompt(name=name, instructions=self.annotate.signature.instructions, demos=demos)


class LMSystem:
    """An LM with a prompt, as a `reno_dspy.systems.System`.

    `constrain` sends each request with its grammar (`programs.constrain`), as vLLM takes it.
    """

    batch_size = 1

    def __init__(
        self,
        name: str,
        spec: LMSpec,
        prompt: Prompt,
        concurrency: int = 8,
        constrain: Constrain = "none",
    ) -> None:
        self.name = name
        self.constrain: Constrain = constrain
        self.spec = spec
        self.prompt = prompt
        self.concurrency = concurrency
        self._lm = make_lm(spec)
        self._program = AnnotateReference(prompt)

    def identity(self) -> Mapping[str, str]:
        """Model, prompt, sampling options and constraint; not where the model is served."""
        options = {
            name: str(value)
            for name, value in self.spec.identity().items()
            if value is not None and value != {}
        }
        if self.constrain != "none":
            options["constrain"] = self.constrain
        return options | {"prompt": self.prompt.name, "prompt_digest": self.prompt.digest}

    def prompt_text(self) -> str:
        """The instructions and the worked examples."""
        return self.prompt.text

    async def start(self) -> Completion:
        """Make a trial request. Raises JobError or InputError when it fails, as others would."""
        lm = self._lm_for(REFERENCE)
        taken = await asyncio.to_thread(try_out, lm, lambda: self._program(reference=REFERENCE))
        return Completion("", **taken)

    async def annotate(self, references: Sequence[str]) -> list[Completion]:
        """One request a reference; a failed one is a Completion with `error`."""
        return [await self._one(reference) for reference in references]

    async def _one(self, reference: str) -> Completion:
        start = time.perf_counter()
        try:
            lm = self._lm_for(reference)
        except ValueError as error:
            return Completion("", error=f"No grammar for this reference: {error}.")
        try:
            with dspy.context(lm=lm, adapter=PlainAdapter()):
                prediction = await self._program.acall(reference=reference)
        except Exception as error:  # whatever failed, the other references go on
            taken = last_usage(lm) | {"latency_s": time.perf_counter() - start}
            return Completion("", error=explain(error, lm), **taken)
        taken = last_usage(lm) | {"latency_s": time.perf_counter() - start}
        if taken["finish_reason"] != "length":
            broken = violation(self.constrain, reference, prediction.annotation)
            if broken is not None:
                return Completion("", error=_UNCONSTRAINED.format(broken), **taken)
        return Completion(prediction.annotation, **taken)

    def _lm_for(self, reference: str) -> LM:
        """A copy with a history of its own: this call's tokens only, whatever else runs.

        Raises ValueError for a reference that no grammar can be made for.
        """
        allowed = grammar(self.constrain, reference)
        if allowed is None:
            options = {}
        else:
            grammars = {"structured_outputs": {"grammar": allowed}}
            options = {"extra_body": self.spec.extra_body | grammars}
        own: LM = self._lm.copy(**options)
        return own
