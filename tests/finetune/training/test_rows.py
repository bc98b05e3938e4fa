"""Training rows ask what inference asks, teach the reference in place, and lose nothing silently."""

from __future__ import annotations

import dspy
import pytest
from dspy.lm15 import Message, Request, Response, Usage

from finetune.base import TINY, resolve_base
from finetune.models import load_tokenizer
from finetune.training.rows import drop_long, length_of, make_rows, to_records
from programs.annotate import AnnotateReference
from programs.chat_format import PlainAdapter
from programs.prompts import Demo, Prompt, load
from reno_dspy.data.dataset import Row
from reno_dspy.jats.citation import read

TEXT = "3. Veldt A. A map of fog & salt.  J Fict. 2001;4:1-9."
GOLD = (
    "<element-citation><surname>Veldt</surname><article-title>A map of fog &amp; salt</article-title>"
    "<source>J Fict</source><year>2001</year></element-citation>"
)


def row(plaintext: str | None = TEXT, xml: str = GOLD, licence: str | None = "CC0") -> Row:
    return Row(None, plaintext, xml, "ours", licence=licence)


class Recorder:
    """A DSPy engine that keeps what it is asked."""

    def __init__(self) -> None:
        self.asked: list[list[dict[str, str]]] = []

    def complete(self, request: Request) -> Response:
        messages = [{"role": "system", "content": request.system or ""}]
        messages += [{"role": m.role, "content": m.text or ""} for m in request.messages]
        self.asked.append(messages)
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        message = Message.assistant("x")
        return Response(
            id="x", model=request.model, message=message, finish_reason="stop", usage=usage
        )


@pytest.mark.parametrize("name", ["brief", "zero-shot", "two-shot"])
def test_a_row_begins_byte_for_byte_as_inference_asks(name: str) -> None:
    recorder = Recorder()
    lm = dspy.LM("scripted/x", engine=recorder, cache=False)
    with dspy.context(lm=lm, adapter=PlainAdapter()):
        AnnotateReference(load(name))(reference=TEXT)
    (made,), _ = make_rows([row()], load(name))
    assert recorder.asked == [made.prompt]

    tokenizer = load_tokenizer(resolve_base(TINY))
    (record,) = to_records([made], thinking=False)
    asked = tokenizer.apply_chat_template(
        recorder.asked[0], add_generation_prompt=True, tokenize=False
    )
    trained = tokenizer.apply_chat_template(
        record["prompt"] + record["completion"], tokenize=False, **record["chat_template_kwargs"]
    )
    assert trained.startswith(asked + made.completion + tokenizer.eos_token)


def test_the_answer_is_the_reference_with_its_gold_tagged() -> None:
    (made,), report = make_rows([row()], load("brief"))
    reading = read(made.completion)
    assert reading.text == " ".join(TEXT.split())
    assert reading.strict["article-title"] == ("A map of fog & salt",)
    assert reading.strict["surname"] == ("Veldt",)
    assert (report.given, report.used, dict(report.dropped)) == (1, 1, {})


def test_rows_that_cannot_be_used_are_counted_by_reason() -> None:
    absent = GOLD.replace("2001", "1888")
    rows = [
        row(), row(None), row(xml="<a>"), row(licence="CC BY-NC"), row(xml=absent),
        row(xml="<element-citation/>"), row("A\x01B"),
    ]  # fmt: skip
    made, report = make_rows(rows, load("brief"), licences=["CC0"])
    assert len(made) == report.used == 1
    assert report.given == 7
    assert report.dropped == {
        "no_plaintext": 1, "malformed_xml": 1, "licence": 1, "incomplete": 1, "no_fields": 1,
        "illegal_character": 1,
    }  # fmt: skip
    assert report.unplaced["year"] == 1
    assert report.as_dict()["cleaned_values"] == {"labels": 1}
    assert len(make_rows([row(xml=absent)], load("brief"), complete_only=False)[0]) == 1


def test_long_rows_are_left_out_and_counted_not_cut() -> None:
    tokenizer = load_tokenizer(resolve_base(TINY))
    made, report = make_rows([row(), row(TEXT + " x" * 200)], load("brief"))
    limit = length_of(made[0], tokenizer)
    assert drop_long(made, tokenizer, limit, report) == made[:1]
    assert (report.used, report.dropped["too_long"]) == (1, 1)
    assert drop_long(made, tokenizer, limit - 1, report) == []


def test_an_example_in_the_prompt_becomes_turns() -> None:
    prompt = Prompt(name="p", instructions="I", demos=(Demo(reference="r", annotation="a"),))
    (made,), _ = make_rows([row()], prompt)
    assert [turn["role"] for turn in made.prompt] == ["system", "user", "assistant", "user"]
