"""The text in an LM's reply, or the reason why there is none; the tokens and cost of a call.

Endpoints answer HTTP 200 with no text for many reasons: a refusal, a content filter, a reply cut off
while the model was still thinking, a gateway that lost the choices. None of them is an annotation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dspy
from dspy.utils.exceptions import LMError

from reno_dspy.jats.thoughts import without_thoughts

_CUT_OFF = (
    "The answer was cut off before it began: thinking took all of max_tokens. Raise it, or switch "
    "thinking off"
)

# The name in a prediction, beside an empty output, of the reason why its request failed.
FAILURE = "failure"


class NoContent(LMError):  # type: ignore[misc]
    """A reply without an answer in it. `empty`: the model itself returned nothing."""

    default_code = "no_content"

    def __init__(self, message: str, *, empty: bool = False) -> None:
        super().__init__(message)
        self.empty = empty


def read_content(outputs: Sequence[Any], response: Any) -> str:
    """The text of the one answer in DSPy's `outputs`, thoughts included.

    `response` is what DSPy's history holds of the call (an lm15 Response, or litellm's ModelResponse;
    None where there is no history). Raises NoContent when there is nothing but thoughts.
    """
    output = outputs[0] if outputs else None
    text = output.get("text") if isinstance(output, dict) else output
    # A lone surrogate, which an LM can produce, could be sent to no endpoint again.
    said = str(text or "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    answer, thought = without_thoughts(said)
    if answer.strip():
        return said
    raise _no_content(_reply(response), thought)


def last_usage(lm: dspy.BaseLM) -> dict[str, Any]:
    """What `lm`'s last call used; a value is None where the server did not give it.

    Keys: `prompt_tokens`, `completion_tokens`, `cost` (US dollars), `finish_reason`.
    """
    entry: dict[str, Any] = lm.history[-1] if lm.history else {}
    usage = entry.get("usage") or {}
    return {
        "prompt_tokens": usage.get("prompt_tokens"),
        "completion_tokens": usage.get("completion_tokens"),
        "cost": entry.get("cost"),
        "finish_reason": _finish_reason(entry.get("response")),
    }


def _no_content(reply: dict[str, Any], thought: bool) -> NoContent:
    message = reply["message"]
    if reply["finish_reason"] is None:
        return NoContent("The reply holds no answer (no `choices`)")
    if message.get("refusal"):
        return NoContent(f"The model refused: {message['refusal']}")
    if reply["finish_reason"] == "content_filter":
        return NoContent("A content filter withheld the answer")
    if reply["finish_reason"] == "length":
        return NoContent(_CUT_OFF)
    if message.get("reasoning"):
        return NoContent(
            "The whole answer stands in the reply's reasoning. Serve the model with the reasoning "
            "parser that is made for it, or switch thinking off"
        )
    if message.get("tool_calls"):
        return NoContent("The model called a tool instead of answering")
    if thought:
        return NoContent("The answer holds nothing but thinking", empty=True)
    if message.get("content", "") is None:
        return NoContent("The content of the reply is null")
    return NoContent("The answer is empty", empty=True)


def _reply(response: Any) -> dict[str, Any]:
    """`finish_reason` (None without any choice) and `message` of a reply, from either engine."""
    parts = getattr(getattr(response, "message", None), "parts", ())
    of_type = {part.type: getattr(part, "text", True) for part in parts}
    body = getattr(response, "provider_data", None) or _dumped(response)
    raw = _first(body.get("choices"))
    lost = raw is None and ("choices" in body or body.get("object") == "chat.completion")
    message = dict((raw or {}).get("message") or {})
    message["reasoning"] = (
        message.get("reasoning") or message.get("reasoning_content") or of_type.get("thinking")
    )
    message["refusal"] = message.get("refusal") or of_type.get("refusal")
    finish = (raw or {}).get("finish_reason") or getattr(response, "finish_reason", None) or "stop"
    return {"finish_reason": None if lost else str(finish), "message": message}


def _dumped(response: Any) -> dict[str, Any]:
    dump = getattr(response, "model_dump", None)
    return dict(dump()) if dump else {}


def _first(choices: Any) -> dict[str, Any] | None:
    return choices[0] if isinstance(choices, list) and choices else None


def _finish_reason(response: Any) -> str | None:
    return None if response is None else _reply(response)["finish_reason"]
