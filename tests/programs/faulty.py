"""An OpenAI-compatible server that fails in the ways that servers and gateways are known to fail.

`http://127.0.0.1:PORT/MODE/v1` answers every request as MODE says; behind the fault is the right answer
to what is asked: an annotation, a list of references, a description, or better instructions.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

THOUGHT = "It may be <mixed-citation><surname>Wrong</surname></mixed-citation>; is it yes, or pt?"
REFUSAL = "I can't help with that."


@dataclass(frozen=True)
class Asked:
    """One request: body, header, the right answer to it, and the how-manieth of its kind it is."""

    body: dict[str, Any]
    authorization: str
    right: str
    number: int


@dataclass(frozen=True)
class Reply:
    """What is sent: JSON (or raw bytes), `pause_s` between pieces, the connection reset after one."""

    value: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    pause_s: float = 0.0
    reset: bool = False


def said(text: Any, finish: str = "stop", **message: Any) -> Reply:
    """A chat completion."""
    whole = {"role": "assistant", "content": text} | message
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    choice = {"index": 0, "finish_reason": finish, "message": whole}
    head = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "usage": usage}
    return Reply(head | {"choices": [choice]})


def without_choices(*, none: bool) -> Reply:
    whole = said("").value
    return Reply({name: value for name, value in whole.items() if name != "choices"} | (
        {} if none else {"choices": []}
    ))  # fmt: skip


def refused(status: int, message: str, code: str = "", **headers: str) -> Reply:
    """An error of the API."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply({"error": {"message": message, "type": code, "code": code or None}}, status, sent)


def temperature(asked: Asked) -> Reply:
    if asked.body.get("temperature") in (None, 1, 1.0):
        return said(asked.right)
    return refused(400, "'temperature' does not support 0.0 with this model.", "unsupported_value")


def max_tokens(asked: Asked) -> Reply:
    if "max_tokens" not in asked.body and "max_completion_tokens" not in asked.body:
        return said(asked.right)
    return refused(400, "'max_tokens' is not supported with this model.", "unsupported_parameter")


MODES: dict[str, Callable[[Asked], Reply]] = {
    "right": lambda asked: said(asked.right),
    # The answer is there, with something around it.
    "think": lambda asked: said(f"<think>\n{THOUGHT}\n</think>\n\n{asked.right}"),
    "thinkend": lambda asked: said(f"{THOUGHT}\n</think>\n\n{asked.right}"),
    "reasoning": lambda asked: said(asked.right, reasoning_content=THOUGHT),
    "parts": lambda asked: said([{"type": "text", "text": asked.right}]),
    "503once": lambda asked: said(asked.right) if asked.number > 1 else refused(503, "busy"),
    "429once": lambda asked: (
        said(asked.right) if asked.number > 1 else refused(429, "slower", Retry_After="1")
    ),
    "resetonce": lambda asked: Reply(
        said(asked.right).value, pause_s=0.01, reset=asked.number == 1
    ),
    # HTTP 200 without an answer.
    "nochoices": lambda asked: without_choices(none=True),
    "emptychoices": lambda asked: without_choices(none=False),
    "null": lambda asked: said(None),
    "empty": lambda asked: said(""),
    "refusal": lambda asked: said(None, refusal=REFUSAL),
    "filter": lambda asked: said("", "content_filter"),
    "cutthought": lambda asked: said(None, "length", reasoning_content=THOUGHT),
    "openthought": lambda asked: said(f"<think>\n{THOUGHT}", "length"),
    "allthought": lambda asked: said(None, reasoning=asked.right),
    # No answer, and no use in asking again.
    "unauthorized": lambda asked: refused(
        401, f"Incorrect API key provided: {asked.authorization}.", "invalid_api_key"
    ),
    "quota": lambda asked: refused(429, "You exceeded your quota.", "insufficient_quota"),
    "nomodel": lambda asked: refused(404, "The model `m` does not exist.", "model_not_found"),
    "context": lambda asked: refused(
        400, "This model's maximum context length is 512 tokens.", "context_length_exceeded"
    ),
    "temperature": temperature,
    "max_tokens": max_tokens,
    "html": lambda asked: Reply(b"<html><body>Sign in</body></html>"),
    "badjson": lambda asked: Reply(b'{"choices": [{"message": {"content": "abc'),
    "error200": lambda asked: Reply({"error": {"message": "Provider returned error", "code": 502}}),
    # No answer now.
    "429": lambda asked: refused(429, "Rate limit reached.", Retry_After="3600"),
    "500": lambda asked: refused(500, "internal"),
    "drip": lambda asked: Reply(said(asked.right).value, pause_s=0.5),
}


class FaultyEndpoint:
    """Serves every mode; `right(body)` is the right answer to a request."""

    def __init__(self, right: Callable[[dict[str, Any]], str]) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        owner, numbers, lock = self, Counter[str](), threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._send(Reply({"object": "list", "data": [{"id": "one"}, {"id": "other"}]}))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                mode = self.path.split("/")[1]
                key = mode + str(body["messages"])
                with lock:
                    numbers[key] += 1
                    owner.requests.append(body)
                    owner.headers.append({k.lower(): v for k, v in self.headers.items()})
                sent = self.headers["Authorization"] or ""
                self._send(MODES[mode](Asked(body, sent, right(body), numbers[key])))

            def _send(self, reply: Reply) -> None:
                value = reply.value
                data = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(reply.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                for name, text in reply.headers.items():
                    self.send_header(name, text)
                self.end_headers()
                with contextlib.suppress(OSError):  # the client did not wait
                    self._write(data, reply)

            def _write(self, data: bytes, reply: Reply) -> None:
                size = 40 if reply.pause_s else len(data)
                for start in range(0, len(data), size):
                    self.wfile.write(data[start : start + size])
                    self.wfile.flush()
                    if reply.reset:
                        linger = struct.pack("ii", 1, 0)
                        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                        self.close_connection = True
                        self.connection.close()
                        return
                    time.sleep(reply.pause_s)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def url(self, mode: str) -> str:
        """The base address of a mode."""
        return f"http://127.0.0.1:{self._server.server_port}/{mode}/v1"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
