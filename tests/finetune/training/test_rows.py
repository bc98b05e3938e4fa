"""Training rows ask what inference asks, teach the reference in place, and lose nothing silently."""

from __future__ import annotations

import random

import dspy
import pytest
from dspy.lm15 import Message, Request, Response, Usage
from hypothesis import given
from hypothesis import strategies as st

from finetune.base import TINY, resolve_base
from finetune.models import load_tokenizer
from finetune.recipe import Noise
from finetune.training.noise import add_noise
from finetune.training.rows import drop_long, length_of, make_rows, to_records
from programs.annotate import AnnotateReference
from programs.chat_format import PlainAdapter
from programs.prompts import Demo, Prompt, load
from reno_dspy.data.dataset import Row
from reno_dspy.jats.citation import read
from reno_dspy.jats.spans import Span, project, render

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


ALL = Noise(label=1.0, lost_space=1.0, hyphenation=1.0, ligature=1.0)


def test_noise_puts_in_each_defect_and_moves_the_gold_along() -> None:
    text = "Veldt A. A fine reflection. Annals of Fictional Matters. 2001; 4."
    start = text.index("A fine")
    spans = [Span(0, 5, "surname"), Span(start, start + 17, "article-title")]
    noisy, moved = add_noise(text, spans, ALL, random.Random(1))
    values = {span.field: noisy[span.start : span.end] for span in moved}
    assert values["surname"].replace("- ", "") == "Veldt"
    assert values["article-title"].replace("- ", "").replace(" ", "") == "Aﬁnereﬂection"
    assert noisy[0] in "[(0123456789"
    assert "- " in noisy
    assert add_noise(text, spans, ALL, random.Random(1)) == (noisy, moved)
    assert add_noise(text, spans, Noise(), random.Random(1)) == (text, spans)


def test_another_style_prints_the_same_people_and_titles() -> None:
    text = "Veldt A, Marsh B-C and Odd D. Paper tides: moss & clocks. J Fict. 2001."
    xml = (
        "<mixed-citation><surname>Veldt</surname><given-names>A</given-names><surname>Marsh</surname>"
        "<given-names>B-C</given-names><surname>Odd</surname><given-names>D</given-names>"
        "<article-title>Paper tides: moss &amp; clocks</article-title></mixed-citation>"
    )
    spans = project(text, xml).spans
    styled, moved = add_noise(
        text, spans, Noise(full_names=1, slashes=1, subtitles=1), random.Random(0)
    )
    values = [styled[span.start : span.end] for span in moved]
    assert [values[i] for i in (0, 2, 4, 6)] == [
        "Veldt",
        "Marsh",
        "Odd",
        "Paper tides. moss & clocks",
    ]
    assert all(len(values[i]) > 3 for i in (1, 3, 5))
    assert styled.startswith(
        "Veldt " + values[1] + "/Marsh " + values[3] + "/Odd " + values[5] + ". P"
    )


def test_an_issue_may_have_a_label() -> None:
    text = "J Fict. 2001;12 (3):45."
    spans = [Span(13, 15, "volume"), Span(17, 18, "issue"), Span(20, 22, "fpage")]
    styled, moved = add_noise(text, spans, Noise(locators=1), random.Random(0))
    assert [styled[span.start : span.end] for span in moved] == ["12", "3", "45"]
    assert "(" not in styled
    assert ")" not in styled


@given(
    text=st.text(st.sampled_from("abcfi. ,;A1&<ñ"), min_size=1, max_size=60),
    borders=st.lists(st.integers(0, 60), max_size=6, unique=True),
    seed=st.integers(0, 1000),
)
def test_a_noisy_row_still_repeats_its_reference(text: str, borders: list[int], seed: int) -> None:
    inside = sorted(b for b in borders if b <= len(text))
    spans = [Span(a, b, "source") for a, b in zip(inside[::2], inside[1::2], strict=False)]
    noisy, moved = add_noise(text, spans, ALL, random.Random(seed))
    assert read(render(noisy, moved)).text == " ".join(noisy.split())
