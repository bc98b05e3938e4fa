"""Extraction and description by an LM: chunks, merging, answers in any shape."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from programs.config import LMSpec
from programs.describe import LMDescriber, read_language, read_yes
from programs.extract import LMExtractor, chunks, merge, read_lines
from programs.prompts import load
from reno_dspy.base.errors import JobError

REFERENCES = [
    f"{n}. Ferrand L, Quill A. Paper boats of the year {n}. J Imag Hydrol. {1900 + n};{n}(1):1-9."
    for n in range(1, 31)
]
ARTICLE = (
    "# Of boats\n\nText that goes on.\n\n## References\n\n"
    + "\n".join(line.replace("boats of", "boats\nof") for line in REFERENCES)
    + "\n"
)


def lists_references(body: dict[str, Any]) -> tuple[int, str]:
    """As an LM would: whole references joined, and the cut ones as far as they go."""
    text = " ".join(body["messages"][-1]["content"].split())
    found = [match.start() for match in re.finditer(r"(?<!\d)\d+\. Ferrand", text)]
    ends = [*found[1:], len(text)]
    return 200, "```\n" + "\n".join(
        f"- {text[a:b]}" for a, b in zip(found, ends, strict=True)
    ) + "\n```"


def test_a_long_list_is_extracted_whole_and_once(endpoint: Any) -> None:
    server = endpoint(lists_references)
    spec = LMSpec(model="hosted_vllm/m", api_base=server.url)
    assert LMExtractor(spec, load("extract"), max_chars=700, overlap=200)(ARTICLE) == REFERENCES
    assert len(server.requests) > 4
    system = server.requests[0]["messages"][0]["content"]
    assert system.startswith("List the bibliographic references")
    assert "[[" not in system


def test_an_answer_that_is_cut_off_is_asked_for_in_halves(endpoint: Any) -> None:
    def forgetful(body: dict[str, Any]) -> tuple[int, Any]:
        _, text = lists_references(body)
        cut = len(text) > 400
        message = {"role": "assistant", "content": text[:400]}
        choice = {"index": 0, "finish_reason": "length" if cut else "stop", "message": message}
        head = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
        return 200, head | {"choices": [choice]}

    spec = LMSpec(model="hosted_vllm/m", api_base=endpoint(forgetful).url)
    assert LMExtractor(spec, load("extract"), max_chars=1500, overlap=200)(ARTICLE) == REFERENCES


def test_a_line_that_cannot_be_parted_ends_the_halving(endpoint: Any) -> None:
    choice = {"finish_reason": "length", "message": {"role": "assistant", "content": "One.\nTw"}}
    head = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    server = endpoint(lambda body: (200, head | {"choices": [{"index": 0} | choice]}))
    spec = LMSpec(model="hosted_vllm/m", api_base=server.url)
    assert LMExtractor(spec, load("extract"))("## References\n\nOne.\n" + "Two. " * 100) == ["One."]


def test_a_failing_lm_is_told(endpoint: Any) -> None:
    server = endpoint(lambda body: (400, {"error": {"message": "no"}}))
    spec = LMSpec(model="hosted_vllm/m", api_base=server.url)
    with pytest.raises(JobError, match=r"Extracting references.*400"):
        LMExtractor(spec, load("extract"))(ARTICLE)
    with pytest.raises(JobError, match="Describing references"):
        LMDescriber(spec)("t", "r")


@given(st.lists(st.text(alphabet="ab ", max_size=30), max_size=40), st.integers(31, 80))
def test_chunks_lose_nothing(lines: list[str], size: int) -> None:
    text = "\n".join(lines)
    pieces = chunks(text, size, size // 3)
    for line in lines:
        assert not line.strip() or any(line in piece for piece in pieces)
    assert max(map(len, pieces), default=0) <= size


def test_a_line_longer_than_a_chunk_is_cut_at_a_space() -> None:
    text = "a short line\n" * 34 + "words " * 900 + "\n"
    pieces = chunks(text, 3500, 700)
    assert max(map(len, pieces)) <= 3500
    assert "".join(chunks(text, 3500, 0)) == text
    assert all(piece.endswith((" ", "\n")) for piece in pieces)


def test_a_reference_cut_in_two_is_given_whole() -> None:
    assert merge([["A one.", "B two, cut he"], ["B two, cut here.", "C three."]]) == [
        "A one.",
        "B two, cut here.",
        "C three.",
    ]
    assert merge([["A one.", "B two, whole."], ["two, whole.", "C three."]]) == [
        "A one.",
        "B two, whole.",
        "C three.",
    ]


def test_answers_are_read_line_by_line() -> None:
    assert read_lines("```text\n- One.\n\n  2. Two - with dash.\n```\n") == [
        "One.",
        "2. Two - with dash.",
    ]
    assert read_lines("\n") == []
    assert read_lines("<think>\nOne. Perhaps two.\n</think>\nOne.\nTwo.") == ["One.", "Two."]


def test_a_description(endpoint: Any) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, str]:
        asks_language = "language" in body["messages"][0]["content"]
        return 200, "pt" if asks_language else "Yes."

    server = endpoint(answer)
    describer = LMDescriber(LMSpec(model="hosted_vllm/m", api_base=server.url))
    assert describer("Cartografia dos ventos", "X. doi:10.5555/x") == ("pt", True)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("en", "en"),
        (" 'DE'.", "de"),
        ("Language: fr", "fr"),
        ("und", "und"),
        ("Portuguese", "und"),
        ("pt - it is Portuguese", "pt"),
        ("It is in Portuguese, so the code is **pt**.", "pt"),
        ("<think>Okay, it is Portuguese.</think>\n\npt", "pt"),
        ("it looks Portuguese, or is it?</think>pt", "pt"),
    ],
)
def test_language_answers(answer: str, code: str) -> None:
    assert read_language(answer) == code


def test_yes_answers() -> None:
    answers = ("yes", "**Yes**", "<think>No?</think> yes", "no", "", "yesterday", "yes</think> no")
    assert [read_yes(answer) for answer in answers] == [True] * 3 + [False] * 4
