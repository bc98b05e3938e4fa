"""The server over real HTTP, in processes of its own: answers, counts, errors, and how it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from finetune.base import TINY, resolve_base
from finetune.cpu import halve_linears, has_bfloat16
from finetune.models import load_model, load_tokenizer
from finetune.serving.engine import Engine, Request
from finetune.serving.job import Endpoint, local_server
from finetune.training.loop import FinetuneResult
from reno_dspy.base.errors import InputError

ROOT = Path(__file__).resolve().parents[3]
CHAT = "/chat/completions"
# Seconds for what takes a moment on an idle machine.
PATIENCE = 300


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with local_server(TINY, None, tmp_path_factory.mktemp("log") / "server.log") as running:
        yield running


@pytest.fixture
def client(endpoint: Endpoint) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=endpoint.api_base, timeout=PATIENCE) as client:
        yield client


def body(text: str, **more: object) -> dict[str, Any]:
    messages = [{"role": "system", "content": "Tag."}, {"role": "user", "content": text}]
    return {"model": TINY, "messages": messages, "temperature": 0, "max_tokens": 6, **more}


def expected(text: str, adapter: FinetuneResult | None = None) -> str:
    """What the model itself answers, without a server."""
    base = resolve_base(TINY)
    tokenizer = load_tokenizer(base)
    model = load_model(base, adapter.adapter if adapter else None)
    if has_bfloat16():
        halve_linears(model.requires_grad_(False))
    engine = Engine(model, {tokenizer.eos_token_id}, 1, 256)
    prompt = tokenizer.apply_chat_template(
        body(text)["messages"], add_generation_prompt=True, return_dict=False
    )
    answer = engine.submit(Request(prompt, 6)).result()
    engine.close()
    return str(tokenizer.decode(answer.tokens, skip_special_tokens=True))


def test_requests_at_once_get_their_own_answers(client: httpx.Client) -> None:
    texts = [f"Reference {number}. 19{number}." for number in range(12)]
    with ThreadPoolExecutor(12) as pool:
        replies = list(pool.map(lambda text: client.post(CHAT, json=body(text)).json(), texts))
    for text, reply in list(zip(texts, replies, strict=True))[::4]:
        assert reply["choices"][0]["message"]["content"] == expected(text)
    for reply in replies:
        usage, choice = reply["usage"], reply["choices"][0]
        assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
        assert choice["finish_reason"] in {"stop", "length"}
        if choice["finish_reason"] == "length":
            assert usage["completion_tokens"] == 6


def test_models_and_health(client: httpx.Client, endpoint: Endpoint) -> None:
    models = client.get("/models").json()["data"]
    assert [(model["id"], model["max_model_len"]) for model in models] == [(TINY, 4096)]
    health = endpoint.api_base.removesuffix("/v1") + "/health"
    assert httpx.get(health, timeout=PATIENCE).json() == {"status": "ok"}


@pytest.mark.parametrize(
    ("change", "status", "says"),
    [
        ({"model": "other"}, 404, "served: tiny"),
        ({"max_tokens": 5000}, 400, "maximum context length is 4096"),
        ({"messages": [{"role": "user", "content": "x " * 5000}]}, 400, "maximum context length"),
        ({"max_tokens": 0}, 400, "max_tokens"),
        ({"messages": []}, 400, "messages"),
        ({"temperature": -1}, 400, "temperature"),
        ({"seed": 2**70, "temperature": 1}, 400, "seed"),
        ({"stream": True}, 400, "stream"),
        ({"n": 2}, 400, "n > 1"),
        ({"response_format": {"type": "json_object"}}, 400, "response_format"),
        ({"structured_outputs": {"grammar": 'root ::= "a"'}}, 400, "structured_outputs"),
    ],
)
def test_a_wrong_request_is_answered_plainly(
    client: httpx.Client, change: dict[str, Any], status: int, says: str
) -> None:
    reply = client.post(CHAT, json=body("x") | change)
    assert reply.status_code == status
    assert says in reply.json()["error"]["message"]


def test_a_temperature_next_to_nothing_is_answered_and_so_is_the_next(client: httpx.Client) -> None:
    greedy = client.post(CHAT, json=body("x")).json()["choices"]
    for temperature in (1e-40, 0.0):
        reply = client.post(CHAT, json=body("x", temperature=temperature))
        assert reply.json()["choices"] == greedy


def test_a_seed_repeats_a_sampled_answer(client: httpx.Client) -> None:
    def sample(seed: int) -> str:
        asked = body("x", temperature=1.5, seed=seed)
        return str(client.post(CHAT, json=asked).json()["choices"][0]["message"]["content"])

    assert sample(3) == sample(3) != sample(4)


def reno_serve(*arguments: str) -> subprocess.Popen[str]:
    code = "from reno_dspy.cli.main import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, "serve", *arguments],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_two_adapters_answer_by_name_and_sigterm_ends_the_command(
    tiny_runs: tuple[FinetuneResult, FinetuneResult],
) -> None:
    adapters = [part for run in tiny_runs for part in ("--adapter", str(run.adapter.path.parent))]
    process = reno_serve(TINY, "--engine", "cpu", *adapters)
    assert process.stdout is not None
    lines = []
    while not lines or not lines[-1].startswith("Ctrl-C"):
        lines.append(process.stdout.readline())
        assert lines[-1], process.communicate()[1]
    assert sum("reno evaluate --system" in line for line in lines) == 2
    base = next(line.split()[-1] for line in lines if line.startswith("Serving"))
    answers = [
        httpx.post(
            base + CHAT, json=body("One.", model=run.adapter.name()), timeout=PATIENCE
        ).json()
        for run in tiny_runs
    ]
    texts = [answer["choices"][0]["message"]["content"] for answer in answers]
    assert texts == [expected("One.", run) for run in tiny_runs]
    assert texts[0] != texts[1]
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, "Traceback" in errors) == (0, False)


def test_a_server_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    script = (
        "import time; from pathlib import Path; from finetune.serving.job import local_server\n"
        f"with local_server('tiny', None, Path({str(tmp_path / 'log')!r})) as e:\n"
        "    print(e.api_base, flush=True); time.sleep(600)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    address = parent.stdout.readline().strip()
    assert httpx.get(f"{address}/models", timeout=PATIENCE).status_code == 200
    os.kill(parent.pid, signal.SIGKILL)
    parent.communicate()
    port = int(address.split(":")[2].split("/")[0])
    for _ in range(10 * PATIENCE):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.1)
    pytest.fail("the server still listens")


def test_an_adapter_of_another_base_is_refused_before_a_start(
    tiny_runs: tuple[FinetuneResult, FinetuneResult], tmp_path: Path
) -> None:
    adapter = tiny_runs[0].adapter.path
    with (
        pytest.raises(InputError, match="Base mismatch"),
        local_server("smollm2-135m", adapter, tmp_path / "log"),
    ):
        pass


def test_a_port_in_use_is_said_plainly() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        process = reno_serve(TINY, "--engine", "cpu", "--port", str(taken.getsockname()[1]))
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert "Cannot listen" in errors
    assert "Traceback" not in errors
