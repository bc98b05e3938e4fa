"""A scripted OpenAI-compatible server on loopback, and a scripted DSPy engine."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Request, Response, Usage

from programs.preflight import REFERENCE, TITLE
from tests.programs.faulty import FaultyEndpoint

Answer = Callable[[dict[str, Any]], "tuple[int, Any]"]
TRIALS = (REFERENCE, TITLE, f"References\n{REFERENCE}")


class Endpoint:
    """`answer(body) -> (status, text or JSON)` decides; `requests` keeps what was received.

    Status 0 is no answer: the connection ends. A job's trial request is answered by itself and kept in
    `trials`.
    """

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[dict[str, Any]] = []
        self.trials: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._send(200, {"object": "list", "data": []})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                is_trial = body["messages"][-1]["content"] in TRIALS
                (owner.trials if is_trial else owner.requests).append(body)
                owner.headers.append({k.lower(): v for k, v in self.headers.items()})
                status, content = (200, "<mixed-citation/>") if is_trial else owner.answer(body)
                if status == 0:
                    self.close_connection = True
                    return
                self._send(status, completion(content) if isinstance(content, str) else content)

            def _send(self, status: int, value: Any) -> None:
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                with contextlib.suppress(BrokenPipeError):  # the client did not wait
                    self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def completion(text: str, finish_reason: str = "stop") -> dict[str, Any]:
    """A chat completion as OpenAI's API answers it."""
    message = {"role": "assistant", "content": text}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": finish_reason, "message": message}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


@pytest.fixture
def endpoint() -> Iterator[Callable[[Answer], Endpoint]]:
    """Start a scripted endpoint; it closes with the test."""
    started: list[Endpoint] = []

    def start(answer: Answer) -> Endpoint:
        started.append(Endpoint(answer))
        return started[-1]

    yield start
    for one in started:
        one.close()


class ScriptedEngine:
    """A DSPy engine: `answer(system, user) -> completion`; `requests` keeps all messages.

    A completion that ends with "…" counts as cut off.
    """

    def __init__(self, answer: Callable[[str, str], str]) -> None:
        self.answer = answer
        self.requests: list[list[dict[str, str]]] = []

    def complete(self, request: Request) -> Response:
        messages = [{"role": "system", "content": request.system or ""}] if request.system else []
        messages += [{"role": m.role, "content": m.text or ""} for m in request.messages]
        self.requests.append(messages)
        system = "\n".join(m["content"] for m in messages if m["role"] == "system")
        text = self.answer(system, messages[-1]["content"])
        return Response(
            id="x",
            model=request.model,
            message=Message.assistant(text),
            finish_reason="length" if text.endswith("…") else "stop",
            usage=Usage(input_tokens=10, output_tokens=5, total_tokens=15),
        )


@pytest.fixture
def scripted() -> Callable[[Callable[[str, str], str]], tuple[dspy.LM, ScriptedEngine]]:
    """Make an LM whose answers a function gives."""

    def make(answer: Callable[[str, str], str]) -> tuple[dspy.LM, ScriptedEngine]:
        engine = ScriptedEngine(answer)
        return dspy.LM("scripted/student", engine=engine, cache=False, num_retries=0), engine

    return make


@pytest.fixture
def faulty() -> Iterator[FaultyEndpoint]:
    """An endpoint with every fault; the right answer is a constant annotation."""
    server = FaultyEndpoint(lambda body: "<mixed-citation>A ref.</mixed-citation>")
    yield server
    server.close()
