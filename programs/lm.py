"""Language models by specification: which model, where it is served, how it is asked.

A key is named by its environment variable and read when the LM is made; it enters no file, log or
message. DSPy's cache is off: `predictions.jsonl` and an optimize run's answers are our own.
"""

from __future__ import annotations

import asyncio
import atexit
import base64
import logging
import os
import threading
import time
from collections.abc import Coroutine
from string import Template
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

# Unset, importing litellm tries to download a price list.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import dspy
from dspy.utils.exceptions import (
    LMError,
    LMRateLimitError,
    LMTimeoutError,
    is_retryable_lm_error,
)

from programs.config import LMSpec as LMSpec
from programs.config import is_reasoning_model
from reno_dspy.base.errors import InputError
from reno_dspy.base.loopback import bypass_proxies
from reno_dspy.base.progress import say
from reno_dspy.base.secrets import keep_secret, names_a_secret

T = TypeVar("T")

_NO_KEY, _AUTHORIZATION = "none", "Authorization"
# Seconds before the first retry, doubled for each further one, and the longest such wait.
_BACKOFF, _LONGEST_BACKOFF = 1.0, 60.0
# Shorter waits, in seconds, are not worth a line.
_WORTH_TELLING = 5.0
# Seconds that the end of the process waits for calls to be cancelled.
_ENDING_S = 2.0

# A truncated answer is recorded with its row and counted in the report; no line for each.
logging.getLogger("dspy.clients.lm").setLevel(logging.ERROR)


class LM(dspy.LM):  # type: ignore[misc]
    """The DSPy LM of a specification, uncached.

    It bounds what DSPy and the HTTP clients below it leave open: the time that a whole answer may take,
    and the time that is spent waiting when the endpoint limits the rate. All copies of an LM wait
    together. Calls from threads go through one event loop, so that they share connections.
    """

    def __init__(self, spec: LMSpec) -> None:
        self.spec = spec
        self._pause = _Pause(spec.model)
        address, headers = _address(spec), _headers(spec)
        optional: dict[str, Any] = {
            "api_base": address,
            "api_key": _key(spec),
            "extra_headers": headers or None,
            "top_p": spec.top_p,
            "seed": spec.seed,
            "extra_body": spec.extra_body or None,
        }
        limit = None if is_reasoning_model(spec.model) else spec.max_tokens
        super().__init__(
            spec.model,
            temperature=spec.temperature,
            max_tokens=limit,
            cache=False,
            num_retries=0,
            timeout=spec.timeout,
            engine=spec.engine,
            **{name: value for name, value in optional.items() if value is not None},
        )
        if limit != spec.max_tokens:
            # DSPy refuses fewer than 16,000 here; the endpoint takes any number.
            self.kwargs["max_completion_tokens"] = spec.max_tokens

    def __call__(self, prompt: Any = None, *, messages: Any = None, **options: Any) -> Any:
        """Ask from a thread. Raises LMError as `acall` does."""
        return _in_background(self.acall(prompt, messages=messages, **options))

    async def acall(self, prompt: Any = None, *, messages: Any = None, **options: Any) -> Any:
        """Ask, again after transient failures. Raises LMError when that does not help."""
        attempt, waited = 0, 0.0
        while True:
            await self._pause.over()
            try:
                return await self._ask(prompt, messages, options)
            except LMError as error:
                wait = _wait_after(error, attempt)
                tries_left = attempt < self.spec.num_retries and is_retryable_lm_error(error)
                if not tries_left or waited + wait > self.spec.max_wait:
                    raise
                if isinstance(error, LMRateLimitError):
                    self._pause.begin(wait)
            attempt, waited = attempt + 1, waited + wait
            await asyncio.sleep(wait)

    async def _ask(self, prompt: Any, messages: Any, options: dict[str, Any]) -> Any:
        try:
            async with asyncio.timeout(self.spec.timeout):
                return await super().acall(prompt, messages=messages, **options)
        except TimeoutError:
            raise LMTimeoutError("the answer had not ended", model=self.model) from None


def make_lm(spec: LMSpec) -> LM:
    """The LM of `spec`.

    Raises InputError when the variable of its key or of a header is not set, or when its model has no
    name.
    """
    bypass_proxies()
    try:
        return LM(spec)
    except (ValueError, LMError) as error:
        raise InputError(f"lm.model {spec.model!r} cannot be used: {error}.") from error


def connection(spec: LMSpec) -> tuple[str, dict[str, str]]:
    """The base address of the endpoint of `spec`, and the headers of a request. Raises as `make_lm`."""
    key = {_AUTHORIZATION: f"Bearer {_key(spec)}"} if _key(spec) else {}
    return _address(spec) or "", key | _headers(spec)


class _Pause:
    """A time before which no request is sent, shared by all copies of an LM, in whatever thread."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._until = 0.0
        self._lock = threading.Lock()

    def begin(self, seconds: float) -> None:
        """Pause for `seconds` from now, unless a longer pause is under way."""
        with self._lock:
            now = time.monotonic()
            is_news = now >= self._until and seconds >= _WORTH_TELLING
            self._until = max(self._until, now + seconds)
        if is_news:
            say(
                f"The endpoint of {self._model} limits the rate; waiting {seconds:,.0f} s, as it asks."
            )

    async def over(self) -> None:
        """Wait for the end of the pause."""
        while (left := self._until - time.monotonic()) > 0:
            await asyncio.sleep(left)


def _wait_after(error: LMError, attempt: int) -> float:
    """Seconds to wait before another try: what the endpoint asks for, else 1, 2, 4, ... 60."""
    if error.retry_after is not None:
        return float(error.retry_after)
    return min(_BACKOFF * 2.0**attempt, _LONGEST_BACKOFF)


def _key(spec: LMSpec) -> str | None:
    if spec.api_key_env is None:
        # A local server needs no key, and must not be sent the one meant for a public API.
        return _NO_KEY if spec.api_base else None
    key = os.environ.get(spec.api_key_env)
    if not key:
        raise InputError(
            f"The key of {spec.model} is expected in ${spec.api_key_env}, which is not set."
        )
    keep_secret(key)
    return key


def _headers(spec: LMSpec) -> dict[str, str]:
    """The headers of `spec` with their variables filled in; one for user and password of its address."""
    headers = _basic_authorization(spec)
    for given, value in spec.headers.items():
        # The clients below add a header of this very name for the key; ours must replace it.
        name = _AUTHORIZATION if given.lower() == _AUTHORIZATION.lower() else given
        try:
            headers[name] = Template(value).substitute(os.environ)
        except (KeyError, ValueError) as error:
            raise InputError(
                f"Header {name} of {spec.model}: {error} is not set in the environment. A "
                "dollar sign itself is written $$."
            ) from None
        if "$" in value or names_a_secret(name):
            keep_secret(headers[name])
    return headers


def _basic_authorization(spec: LMSpec) -> dict[str, str]:
    address = urlsplit(spec.api_base or "")
    if address.username is None:
        return {}
    user, password = unquote(address.username), unquote(address.password or "")
    encoded = base64.b64encode(f"{user}:{password}".encode()).decode()
    for secret in (password, address.password, encoded):
        keep_secret(secret)
    return {_AUTHORIZATION: f"Basic {encoded}"}


def _address(spec: LMSpec) -> str | None:
    """The base address without user and password."""
    if spec.api_base is None:
        return None
    address = urlsplit(spec.api_base)
    return address._replace(netloc=address.netloc.rpartition("@")[2]).geturl()


class _Background:
    """An event loop in its own thread, for calls from other threads."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="lm-calls", daemon=True)
        self._thread.start()
        atexit.register(self._end)

    def cancel(self) -> None:
        """Give up every call."""
        self.loop.call_soon_threadsafe(self._cancel)

    def _run(self) -> None:
        self.loop.run_forever()
        # Libraries leave tasks of their own behind, which would be complained about at the end.
        if tasks := self._cancel():
            self.loop.run_until_complete(asyncio.wait(tasks))
        self.loop.close()

    def _cancel(self) -> list[asyncio.Task[Any]]:
        tasks = list(asyncio.all_tasks(self.loop))
        for task in tasks:
            task.cancel()
        return tasks

    def _end(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(timeout=_ENDING_S)


_background: _Background | None = None
_starting = threading.Lock()


def _in_background(call: Coroutine[Any, Any, T]) -> T:
    """The result of `call`, run with the caller's context; cancelled when the caller is interrupted."""
    global _background
    with _starting:
        _background = _background or _Background()
    future = asyncio.run_coroutine_threadsafe(call, _background.loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def cancel_calls() -> None:
    """Give up every call from a thread that is under way; there it raises CancelledError."""
    if _background is not None:
        _background.cancel()
