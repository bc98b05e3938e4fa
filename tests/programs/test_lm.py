"""What really goes over the wire, and what a failing endpoint says, against a loopback server."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from typing import Any

import pytest
from dspy.clients.lm import _is_openai_reasoning_model

from programs.annotate import LMSystem
from programs.config import is_reasoning_model
from programs.lm import LMSpec, make_lm
from programs.preflight import check_endpoint
from programs.prompts import load
from reno_dspy.base.config import validate
from reno_dspy.base.errors import InputError, JobError
from reno_dspy.jats.citation import read
from reno_dspy.systems import Completion
from tests.programs.faulty import FaultyEndpoint


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
    monkeypatch.setattr("programs.lm._wait_after", lambda error, attempt: 0.0)
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


@pytest.mark.parametrize(
    ("mode", "says"),
    [
        ("nochoices", "choices"),
        ("null", "null"),
        ("refusal", "refused: I can't help with that"),
        ("filter", "content filter"),
        ("cutthought", "cut off before it began"),
        ("openthought", "cut off before it began"),
        ("allthought", "stands in the reply's reasoning"),
        ("empty", "is empty"),
    ],
)
@pytest.mark.parametrize("headers", [{}, {"X-Gateway": "a"}])  # with headers, litellm asks
def test_a_reply_without_an_answer_is_a_failure_with_its_reason(
    mode: str, says: str, headers: dict[str, str], faulty: FaultyEndpoint
) -> None:
    spec = LMSpec(model="openai/m", api_base=faulty.url(mode), headers=headers, num_retries=0)
    (answer,) = annotate(spec)
    assert says in str(answer.error)
    assert answer.text == ""
    if not headers or mode != "nochoices":  # litellm raises on that, and tells no tokens
        assert (answer.prompt_tokens, answer.completion_tokens) == (11, 7)


@pytest.mark.parametrize(
    "mode", ["think", "thinkend", "reasoning", "503once", "429once", "resetonce"]
)
@pytest.mark.parametrize("headers", [{}, {"X-Gateway": "a"}])
def test_an_answer_with_something_around_it_is_read(
    mode: str, headers: dict[str, str], faulty: FaultyEndpoint, monkeypatch: Any
) -> None:
    monkeypatch.setattr("programs.lm._wait_after", lambda error, attempt: 0.0)
    spec = LMSpec(model="openai/m", api_base=faulty.url(mode), headers=headers)
    (answer,) = annotate(spec)
    assert answer.error is None
    assert read(answer.text).text == "A ref."


def test_the_timeout_bounds_the_whole_answer(faulty: FaultyEndpoint) -> None:
    spec = LMSpec(model="openai/m", api_base=faulty.url("drip"), timeout=0.5, num_retries=0)
    (answer,) = annotate(spec)
    assert "no whole answer in time (timeout: 0.5 s)" in str(answer.error)


def test_a_wait_for_a_rate_limit_is_told_and_shared(
    faulty: FaultyEndpoint, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setattr("programs.lm._WORTH_TELLING", 0.5)
    system = LMSystem(
        "t", LMSpec(model="openai/m", api_base=faulty.url("429once")), load("zero-shot")
    )

    async def everything() -> list[list[Completion]]:
        return await asyncio.gather(*(system.annotate([str(n)]) for n in range(8)))

    assert not any(one.error for (one,) in asyncio.run(everything()))
    # Those that are refused while a pause is on say nothing more.
    assert 1 <= capsys.readouterr().err.count("limits the rate; waiting 1 s") < 8


def test_a_wait_that_is_too_long_is_a_failure(faulty: FaultyEndpoint) -> None:
    (answer,) = annotate(LMSpec(model="openai/m", api_base=faulty.url("429"), max_wait=60))
    assert "asks to wait 3,600 s; max_wait is 60 s" in str(answer.error)
    assert len(faulty.requests) == 1


def test_libraries_advice_is_not_handed_on(faulty: FaultyEndpoint, monkeypatch: Any) -> None:
    monkeypatch.setenv("GATEWAY_KEY", "gateway-key-1")
    for mode, name, says in (
        ("unauthorized", None, "a request without a key (name its variable as api_key_env"),
        (
            "unauthorized",
            "GATEWAY_KEY",
            "refused the key in $GATEWAY_KEY: Incorrect API key provided",
        ),
        ("429", None, "limits the rate: Rate limit reached (it asks"),
        ("quota", None, "has no credit left: You exceeded your quota"),
        ("temperature", None, "(temperature: null leaves it out)"),
        ("max_tokens", None, "(max_tokens: null leaves it out)"),
        ("context", None, "(lower max_tokens, or serve"),
    ):
        (answer,) = annotate(LMSpec(model="openai/m", api_base=faulty.url(mode), api_key_env=name))
        assert says in str(answer.error)
        assert not re.search("OPENAI_API_KEY|lm15|litellm|To fix", str(answer.error))


def test_headers_are_sent_with_their_variables(faulty: FaultyEndpoint, monkeypatch: Any) -> None:
    monkeypatch.setenv("GATEWAY_KEY", "gateway-key-1")
    spec = LMSpec(model="openai/m", api_base=faulty.url("right"),
                  headers={"X-Gateway": "key ${GATEWAY_KEY}", "X-Team": "cats"})  # fmt: skip
    (answer,) = annotate(spec)
    assert answer.error is None
    assert faulty.headers[-1]["x-gateway"] == "key gateway-key-1"
    assert faulty.headers[-1]["x-team"] == "cats"
    shown = str(spec.model_dump()) + str(LMSystem("t", spec, load("zero-shot")).identity())
    assert "gateway-key-1" not in shown


def test_an_authorization_header_replaces_the_key(faulty: FaultyEndpoint, monkeypatch: Any) -> None:
    monkeypatch.setenv("GATEWAY_KEY", "gateway-key-1")
    spec = LMSpec(model="openai/m", api_base=faulty.url("right"),
                  headers={"authorization": "Token $GATEWAY_KEY"})  # fmt: skip
    (answer,) = annotate(spec)
    assert answer.error is None
    assert check_endpoint(spec) == ("one", "other")
    assert faulty.headers[-1]["authorization"] == "Token gateway-key-1"


def test_a_header_without_its_variable_is_named() -> None:
    with pytest.raises(InputError, match=r"Header X-Gateway of openai/m: 'NO_SUCH_VARIABLE' is no"):
        make_lm(LMSpec(model="openai/m", headers={"X-Gateway": "$NO_SUCH_VARIABLE"}))


def test_user_and_password_of_an_address_are_sent_and_hidden(faulty: FaultyEndpoint) -> None:
    address = faulty.url("unauthorized").replace("://", "://me:hunter%402pass@")
    spec = LMSpec(model="openai/m", api_base=address, num_retries=0)
    (answer,) = annotate(spec)
    assert faulty.headers[-1]["authorization"] == "Basic bWU6aHVudGVyQDJwYXNz"
    # The server tells what it was sent.
    assert "Incorrect API key provided: Basic ***" in str(answer.error)
    assert not re.search("hunter.*2pass|bWU6aHVu", f"{answer} {spec.model_dump()}")
    assert check_endpoint(spec) == ("one", "other")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"model": "openai/m", "api_base": "http://h/v1?key=abc"}, "api_base takes no query"),
        ({"model": "openai/gpt-5", "temperature": 0.0}, "openai/gpt-5 takes no temperature"),
    ],
)
def test_options_that_no_endpoint_takes(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        validate(LMSpec, options)
    with pytest.raises(InputError, match=says):
        LMSpec(model="openai/m").changed(**options)


@pytest.mark.parametrize("model", ["openai/gpt-5", "openai/o3-mini", "openai/openai/gpt-5.1-nano"])
def test_a_reasoning_model_is_asked_as_it_wants(model: str, faulty: FaultyEndpoint) -> None:
    for limit in ({}, {"max_tokens": 2000}):
        spec = LMSpec(model=model, api_base=faulty.url("right"), **limit)
        (answer,) = annotate(spec)
        assert answer.error is None
        sent = faulty.requests[-1]
        assert "temperature" not in sent
        assert sent.get("max_completion_tokens") == limit.get("max_tokens")


def test_reasoning_models_are_those_of_dspy() -> None:
    for model in ("gpt-5", "gpt-5-mini", "gpt-5.6-luna", "gpt-5-chat-latest", "o1", "o3-mini",
                  "o4-mini-2025-04-16", "gpt-4o", "gpt-oss-20b", "o2", "foo1"):  # fmt: skip
        assert is_reasoning_model(f"openai/{model}") == _is_openai_reasoning_model(model)


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
