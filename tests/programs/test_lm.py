"""What really goes over the wire, and what a failing endpoint says, against a loopback server."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from programs.annotate import LMSystem
from programs.lm import LMSpec, check_endpoint, make_lm
from programs.prompts import load
from reno_dspy.base.errors import InputError, JobError
from reno_dspy.systems import Completion


def annotate(spec: LMSpec, *references: str) -> list[Completion]:
    system = LMSystem("test", spec, load("zero-shot"))
    return asyncio.run(system.annotate(references or ("A ref.",)))


def start(spec: LMSpec) -> None:
    asyncio.run(LMSystem("test", spec, load("zero-shot")).start())


@pytest.mark.parametrize("route", ["openai", "hosted_vllm"])
def test_every_option_is_sent(route: str, endpoint: Any) -> None:
    server = endpoint(lambda body: (200, "<mixed-citation/>"))
    (answer,) = annotate(
        LMSpec(
            model=f"{route}/some/model",
            api_base=server.url,
            temperature=0.0,
            top_p=0.9,
            max_tokens=77,
            seed=5,
            extra_body={"chat_template_kwargs": {"enable_thinking": False}},
        )
    )
    body = server.requests[0]
    # DSPy has treated 0.0 as unset (dspy#10456): the server would then sample at its own default.
    assert body["temperature"] == 0.0
    assert (body["model"], body["top_p"], body["max_tokens"], body["seed"]) == (
        "some/model",
        0.9,
        77,
        5,
    )
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert answer.text == "<mixed-citation/>"
    assert (answer.prompt_tokens, answer.completion_tokens) == (11, 7)
    assert answer.finish_reason == "stop"
    assert answer.error is None


def test_truncation_is_told(endpoint: Any) -> None:
    choice = {"finish_reason": "length", "message": {"role": "assistant", "content": "<mixed-ci"}}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    server = endpoint(lambda _: (200, body | {"choices": [{"index": 0} | choice]}))
    (answer,) = annotate(LMSpec(model="hosted_vllm/m", api_base=server.url))
    assert (answer.text, answer.finish_reason) == ("<mixed-ci", "length")


def test_transient_failures_are_retried(endpoint: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("dspy.clients.execution._delay", lambda exc, attempt: 0.0)
    answers = [(500, {"error": "no"}), (429, {"error": "slower"}), (200, "ok")]
    server = endpoint(lambda body: answers.pop(0))
    (answer,) = annotate(LMSpec(model="hosted_vllm/m", api_base=server.url))
    assert (answer.text, answer.error) == ("ok", None)
    assert len(server.requests) == 3


def test_answers_at_once_do_not_mix(endpoint: Any) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        number = int(body["messages"][-1]["content"])
        time.sleep(0.002 * (number % 7))
        message = {"role": "assistant", "content": f"<n>{number}</n>"}
        usage = {"prompt_tokens": number, "completion_tokens": 1, "total_tokens": number + 1}
        head = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "usage": usage}
        return 200, head | {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}

    server = endpoint(answer)
    system = LMSystem("t", LMSpec(model="hosted_vllm/m", api_base=server.url), load("two-shot"))

    async def everything() -> list[list[Completion]]:
        return await asyncio.gather(*(system.annotate([str(n)]) for n in range(1, 60)))

    answers = [one for (one,) in asyncio.run(everything())]
    assert [one.text for one in answers] == [f"<n>{n}</n>" for n in range(1, 60)]
    assert [one.prompt_tokens for one in answers] == list(range(1, 60))
    # A second event loop, as a resumed evaluation has one, asks through a new connection pool.
    assert asyncio.run(system.annotate(["3"]))[0].text == "<n>3</n>"


def test_a_lasting_failure_is_a_completion_with_an_error(endpoint: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("TEST_KEY", "very-secret-value")
    server = endpoint(
        lambda body: (400, {"error": {"message": "bad: Bearer very-secret-value", "code": 400}})
    )
    spec = LMSpec(model="hosted_vllm/m", api_base=server.url, api_key_env="TEST_KEY")
    answers = annotate(spec, "one", "two")
    assert server.headers[0]["authorization"] == "Bearer very-secret-value"
    assert [answer.text for answer in answers] == ["", ""]
    assert all("400" in str(answer.error) for answer in answers)
    assert "secret" not in str(answers)


def test_a_too_long_prompt_is_named(endpoint: Any) -> None:
    message = "This model's maximum context length is 2048 tokens. However, you requested 9000."
    error = {"message": message, "type": "BadRequestError", "code": "context_length_exceeded"}
    server = endpoint(lambda body: (400, {"error": error}))
    (answer,) = annotate(LMSpec(model="hosted_vllm/m", api_base=server.url))
    assert "context" in str(answer.error)


def test_a_slow_answer_times_out(endpoint: Any) -> None:
    release = threading.Event()
    server = endpoint(lambda body: (200, f"late {release.wait(300)}"))
    spec = LMSpec(model="hosted_vllm/m", api_base=server.url, timeout=0.2, num_retries=0)
    (answer,) = annotate(spec)
    release.set()
    assert "in time" in str(answer.error)


def test_a_dead_endpoint() -> None:
    spec = LMSpec(model="hosted_vllm/m", api_base="http://127.0.0.1:9/v1", num_retries=0)
    for ask in (check_endpoint, start):
        with pytest.raises(JobError, match="Nothing answers"):
            ask(spec)
    (answer,) = annotate(spec)
    assert "cannot be reached" in str(answer.error)


def test_a_missing_key_is_named() -> None:
    with pytest.raises(InputError, match="NO_SUCH_KEY_VARIABLE"):
        make_lm(LMSpec(model="openai/m", api_key_env="NO_SUCH_KEY_VARIABLE"))


def test_a_public_api_without_its_key(monkeypatch: Any) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (answer,) = annotate(LMSpec(model="openai/gpt-4o", num_retries=0))
    assert str(answer.error).startswith("openai/gpt-4o needs a key: put it in $OPENAI_API_KEY or")


def test_no_key_goes_to_a_local_server(endpoint: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-public-api-key")
    server = endpoint(lambda body: (200, "ok"))
    annotate(LMSpec(model="openai/m", api_base=server.url))
    assert server.headers[0]["authorization"] == "Bearer none"


def test_identity_is_not_where_it_is_served() -> None:
    spec = LMSpec(model="openai/m", api_base="http://127.0.0.1:1/v1")
    here = LMSystem("a", spec, load("two-shot"))
    assert here.identity()["temperature"] == "0.0"
    assert "127.0.0.1" not in str(here.identity())
    assert here.identity()["prompt_digest"] == load("two-shot").digest
