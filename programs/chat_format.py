"""The one adapter: how a reference becomes chat messages, and a completion an annotation.

Instructions are the system message, a worked example is one user and one assistant turn, the
reference alone is the user's turn, and the completion, whole, is the output. There are no
`[[ ## field ## ]]` markers and no second, silent call. Fine-tuning rows are made by
`render_messages`, so a tuned model is asked at inference exactly what it was trained on.
"""

from __future__ import annotations

from typing import Any

import dspy

from programs.prompts import Prompt
from programs.reply import NoContent, read_content


class PlainAdapter(dspy.ChatAdapter):  # type: ignore[misc]
    """Plain chat turns for signatures of string inputs and one string output.

    Several inputs stand in one turn, in order, a blank line between them. An answer without content
    raises `NoContent`; with `may_be_empty`, one that is just empty counts as an answer.
    """

    def __init__(self, *, may_be_empty: bool = False) -> None:
        super().__init__(use_json_adapter_fallback=False)
        self._may_be_empty = may_be_empty

    def format_system_message(self, signature: type[dspy.Signature]) -> str:
        """The instructions and nothing else."""
        return str(signature.instructions)

    def format_user_message_content(
        self,
        signature: type[dspy.Signature],
        inputs: dict[str, Any],
        prefix: str = "",
        suffix: str = "",
        main_request: bool = False,
    ) -> str:
        """The input values alone, in the signature's order."""
        return "\n\n".join(str(inputs[name]) for name in signature.input_fields if name in inputs)

    def format_assistant_message_content(
        self,
        signature: type[dspy.Signature],
        outputs: dict[str, Any],
        missing_field_message: str | None = None,
    ) -> str:
        """The output value alone."""
        return str(outputs[_output(signature)])

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """The completion, whole, as the one output."""
        return {_output(signature): completion}

    def _call_postprocess(
        self,
        processed_signature: type[dspy.Signature],
        original_signature: type[dspy.Signature],
        outputs: list[Any],
        lm: dspy.BaseLM,
        lm_kwargs: dict[str, Any],
    ) -> list[dict[str, Any]]:
        try:
            text = read_content(outputs, lm.history[-1]["response"] if lm.history else None)
        except NoContent as failure:
            if not (failure.empty and self._may_be_empty):
                raise
            text = ""
        return [self.parse(original_signature, text)]


class Annotate(dspy.Signature):  # type: ignore[misc]
    """Annotate a reference in JATS XML; a `Prompt` replaces these instructions."""

    reference: str = dspy.InputField()
    annotation: str = dspy.OutputField()


def render_messages(prompt: Prompt, reference: str) -> list[dict[str, str]]:
    """The chat messages `[{"role", "content"}, ...]` by which `prompt` asks about `reference`.

    They are byte for byte what `programs.annotate.AnnotateReference` sends.
    """
    signature = Annotate.with_instructions(prompt.instructions)
    demos = [demo.model_dump() for demo in prompt.demos]
    messages: list[dict[str, str]] = PlainAdapter().format(
        signature, demos, {"reference": reference}
    )
    return messages


def _output(signature: type[dspy.Signature]) -> str:
    (name,) = signature.output_fields
    return str(name)
