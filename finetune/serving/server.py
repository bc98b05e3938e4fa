"""An OpenAI-compatible endpoint on the CPU engine: `/v1/models`, `/v1/chat/completions`, `/health`.

`reno serve` runs it; `python -m finetune.serving.job` is what `local_server` starts.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request as HttpRequest
from transformers import PreTrainedTokenizerBase

from finetune.serving.engine import Engine, Generation, Request


@dataclass(frozen=True)
class Served:
    """A model ready to answer, and the tokenizer that speaks its chat format."""

    engine: Engine
    tokenizer: PreTrainedTokenizerBase


class Message(BaseModel):
    """One chat turn of plain text."""

    role: str
    content: str


class ChatRequest(BaseModel):
    """What a client may ask. Fields of the OpenAI protocol not named here are ignored."""

    model_config = ConfigDict(extra="ignore")

    model: str
    messages: list[Message] = Field(min_length=1)
    temperature: float | None = Field(0.0, ge=0.0)
    top_p: float | None = Field(1.0, gt=0.0, le=1.0)
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    # What torch takes as a seed.
    seed: int | None = Field(None, ge=-(2**63), lt=2**64)
    n: int | None = 1
    stream: bool | None = False
    tools: list[Any] | None = None
    response_format: dict[str, Any] | None = None
    structured_outputs: dict[str, Any] | None = None
    chat_template_kwargs: dict[str, Any] = {}


class _Refused(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        self.status, self.code, self.message = status, code, message


def make_app(models: Mapping[str, Served], default_max_tokens: int) -> FastAPI:
    """The application that serves `models` by name."""
    app = FastAPI(title="reno serve", docs_url=None, redoc_url=None)
    app.add_exception_handler(_Refused, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)

    @app.get("/health")
    async def health() -> dict[str, str]:
        dead = [name for name, served in models.items() if not served.engine.is_alive]
        if dead:
            raise _Refused(503, "engine", f"The engine of {', '.join(dead)} has stopped.")
        return {"status": "ok"}

    @app.get("/v1/models")
    async def list_models() -> dict[str, Any]:
        data = [
            {"id": name, "object": "model", "owned_by": "reno", "max_model_len": m.engine.context}
            for name, m in models.items()
        ]
        return {"object": "list", "data": data}

    @app.post("/v1/chat/completions")
    async def chat(body: ChatRequest, http: HttpRequest) -> dict[str, Any]:
        served = models.get(body.model)
        if served is None:
            known = ", ".join(models)
            raise _Refused(404, "model_not_found", f"No model {body.model!r}; served: {known}.")
        request = _to_request(body, served, default_max_tokens)
        generation = await _generate(served.engine, request, http)
        return _answer(body.model, served, request, generation)

    return app


def _to_request(body: ChatRequest, served: Served, default_max_tokens: int) -> Request:
    for name, unwanted in (
        ("stream", body.stream), ("n > 1", (body.n or 1) > 1), ("tools", body.tools),
        ("response_format", (body.response_format or {}).get("type", "text") != "text"),
        ("structured_outputs (vLLM has them)", body.structured_outputs is not None),
    ):  # fmt: skip
        if unwanted:
            raise _Refused(400, "unsupported", f"This server does not support `{name}`.")
    try:
        prompt: Any = served.tokenizer.apply_chat_template(
            [message.model_dump() for message in body.messages],
            add_generation_prompt=True,
            return_dict=False,
            **({"enable_thinking": False} | body.chat_template_kwargs),
        )
    except Exception as error:  # templates are programs of the model's author
        raise _Refused(400, "chat_template", f"The chat template failed: {error}") from error
    asked = body.max_completion_tokens or body.max_tokens
    context = served.engine.context
    limit = asked or min(default_max_tokens, context - len(prompt))
    if limit < 1 or len(prompt) + limit > context:
        raise _Refused(
            400,
            "context_length_exceeded",
            f"This model's maximum context length is {context} tokens. However, the messages "
            f"have {len(prompt)} tokens and max_tokens is {asked}. Shorten one of them.",
        )
    temperature = body.temperature or 0.0
    return Request(prompt, limit, temperature, body.top_p or 1.0, body.seed)


async def _generate(engine: Engine, request: Request, http: HttpRequest) -> Generation:
    """Wait for the engine; give the request up when its client has gone."""
    try:
        future = engine.submit(request)
    except RuntimeError as error:
        raise _Refused(503, "engine", str(error)) from error
    waiting = asyncio.wrap_future(future)
    while not waiting.done():
        await asyncio.wait([waiting], timeout=1.0)
        if not waiting.done() and await http.is_disconnected():
            future.cancel()
            raise _Refused(499, "client_gone", "The client closed the connection.")
    try:
        return waiting.result()
    except Exception as error:
        raise _Refused(500, "engine", f"The request failed in the server: {error}") from error


def _answer(name: str, served: Served, request: Request, generation: Generation) -> dict[str, Any]:
    text = served.tokenizer.decode(generation.tokens, skip_special_tokens=True)
    stopped = generation.finish_reason == "stop"
    # The end token was generated too, so it counts, as in vLLM.
    written = len(generation.tokens) + stopped
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": name,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": generation.finish_reason,
                "logprobs": None,
            }
        ],
        "usage": {
            "prompt_tokens": len(request.prompt),
            "completion_tokens": written,
            "total_tokens": len(request.prompt) + written,
        },
    }


async def _refused(_: HttpRequest, error: Exception) -> JSONResponse:
    assert isinstance(error, _Refused)
    return _error(error.status, error.code, error.message)


async def _invalid(_: HttpRequest, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    problems = (f"{'.'.join(map(str, p['loc'][1:]))}: {p['msg']}" for p in error.errors())
    return _error(400, "invalid_request", "; ".join(problems))


def _error(status: int, code: str, message: str) -> JSONResponse:
    kind = "server_error" if status >= 500 else "invalid_request_error"
    body = {"error": {"message": message, "type": kind, "code": code, "param": None}}
    return JSONResponse(body, status)
