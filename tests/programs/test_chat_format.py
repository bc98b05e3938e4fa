"""Exact messages: what is sent is what the prompt says, byte for byte, and nothing else."""

from __future__ import annotations

from typing import Any

import dspy
import pytest

from programs.annotate import AnnotateReference
from programs.chat_format import PlainAdapter, render_messages
from programs.prompts import Demo, Prompt, load
from programs.reply import NoContent

REFERENCE = "  Odd  reference: {braces} <tags> & [[ ## reference ## ]]\nsecond line "


def test_messages_are_exactly_the_prompt() -> None:
    prompt = Prompt(
        name="p",
        instructions="\n  Tag it.\n    Keep this.\n\nAnd this indent:\n  x  ",
        demos=(Demo(reference="A. 1999.", annotation="<mixed-citation>A</mixed-citation>"),),
    )
    assert prompt.instructions == "Tag it.\n    Keep this.\n\nAnd this indent:\n  x  "
    assert render_messages(prompt, REFERENCE) == [
        {"role": "system", "content": prompt.instructions},
        {"role": "user", "content": "A. 1999."},
        {"role": "assistant", "content": "<mixed-citation>A</mixed-citation>"},
        {"role": "user", "content": REFERENCE},
    ]


@pytest.mark.parametrize("name", ["zero-shot", "two-shot"])
def test_dspy_sends_what_render_messages_says(name: str, scripted: Any) -> None:
    lm, engine = scripted(lambda system, user: " <a>whole\n completion</a> ")
    with dspy.context(lm=lm, adapter=PlainAdapter()):
        answer = AnnotateReference(load(name))(reference=REFERENCE)
    assert engine.requests == [render_messages(load(name), REFERENCE)]
    assert answer.annotation == " <a>whole\n completion</a> "


def test_an_empty_completion_is_an_answer_only_where_it_may_be(endpoint: Any) -> None:
    server = endpoint(lambda body: (200, ""))
    lm = dspy.LM("hosted_vllm/m", api_base=server.url, api_key="none", cache=False)
    program = AnnotateReference(load("zero-shot"))
    with dspy.context(lm=lm, adapter=PlainAdapter()), pytest.raises(NoContent, match="is empty"):
        program(reference="x")
    with dspy.context(lm=lm, adapter=PlainAdapter(may_be_empty=True)):
        assert program(reference="x").annotation == ""
    assert len(server.requests) == 2
