"""Language models by specification: which model, where it is served, how it is asked.

A key is named by its environment variable and read when the LM is made; it enters no file, log or
message. DSPy's cache is off: `predictions.jsonl` and an optimize run's answers are our own.
"""

from __future__ import annotations

import logging
import os
import re
import urllib.error
import urllib.request
from typing import Any

# Unset, importing litellm tries to download a price list.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import dspy
from dspy.utils.exceptions import (
    ContextWindowExceededError,
    LMAuthError,
    LMBillingError,
    LMConfigurationError,
    LMError,
    LMNotConfiguredError,
    LMRateLimitError,
    LMServerError,
    LMTimeoutError,
    LMTransportError,
    LMUnsupportedModelError,
)

from programs.config import LMSpec as LMSpec
from reno_dspy.base.errors import InputError, JobError

# Errors of the endpoint, not of one request: the next request would meet them as well.
ENDPOINT_ERRORS = (
    LMAuthError,
    LMBillingError,
    LMConfigurationError,
    LMRateLimitError,
    LMServerError,
    LMTimeoutError,
    LMTransportError,
    LMUnsupportedModelError,
)
_NO_KEY = "none"
_SECRET = re.compile(
    r"\b(?:sk|hf|key|gsk)[-_][\w*.-]{6,}|(?<=Bearer )\S+|(?<=[?&]key=)[^&\s]+|(?<=://)[^/@\s]+(?=@)"
)

# A truncated answer is recorded with its row and counted in the report; no line for each.
logging.getLogger("dspy.clients.lm").setLevel(logging.ERROR)


def make_lm(spec: LMSpec) -> dspy.LM:
    """The DSPy LM of `spec`, uncached. Raises InputError when its key's variable is not set."""
    optional: dict[str, Any] = {
        "api_base": spec.api_base,
        "api_key": _key(spec),
        "top_p": spec.top_p,
        "seed": spec.seed,
        "extra_body": spec.extra_body or None,
    }
    return dspy.LM(
        spec.model,
        temperature=spec.temperature,
        max_tokens=spec.max_tokens,
        cache=False,
        num_retries=spec.num_retries,
        timeout=spec.timeout,
        engine=spec.engine,
        **{name: value for name, value in optional.items() if value is not None},
    )


def check_endpoint(spec: LMSpec) -> None:
    """Ask the endpoint of `spec` for its models, so that a dead one is found before a job starts.

    Raises JobError when nothing answers there, or when it serves others but not `spec.model`.
    """
    if spec.api_base is None:
        return
    request = urllib.request.Request(
        f"{spec.api_base.rstrip('/')}/models", headers={"Authorization": f"Bearer {_key(spec)}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=min(spec.timeout, 30.0)):
            return
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (401, 403):
            raise JobError(_refused(spec, error.code)) from None
    except (OSError, ValueError) as error:
        raise JobError(
            f"Nothing answers at {spec.api_base} ({getattr(error, 'reason', error)}). Start the "
            "server (`reno serve`, `vllm serve`) or name another endpoint with --api-base."
        ) from None


def explain(error: Exception, lm: dspy.BaseLM) -> str:
    """A failure of `lm` in plain words, without keys."""
    where = f" ({lm.kwargs['api_base']})" if lm.kwargs.get("api_base") else ""
    text = _hide_keys(getattr(error, "message", None) or str(error), lm.kwargs.get("api_key"))
    if isinstance(error, ContextWindowExceededError):
        return f"The prompt and the longest answer exceed the model's context: {text}"
    if isinstance(error, LMNotConfiguredError):
        names = " or ".join(f"${name}" for name in getattr(error, "env_keys", ()))
        where = f" in {names}" if names else ""
        return f"{lm.model} needs a key: put it{where} or in the variable that api_key_env names."
    if isinstance(error, LMTimeoutError) or "timed out" in text:
        return f"The endpoint{where} gave no answer in time: {text}"
    if isinstance(error, LMTransportError):
        return f"The endpoint{where} cannot be reached: {text}"
    if isinstance(error, LMAuthError):
        return f"The endpoint{where} refused the key: {text}"
    if isinstance(error, LMRateLimitError):
        return f"The endpoint{where} limits the rate: {text}"
    if isinstance(error, LMError):
        status = f"HTTP {error.status}" if error.status else type(error).__name__
        return f"The endpoint{where} failed ({status}): {text}"
    return f"{type(error).__name__}: {text}"


def _key(spec: LMSpec) -> str | None:
    if spec.api_key_env is None:
        # A local server needs no key, and must not be sent the one meant for a public API.
        return _NO_KEY if spec.api_base else None
    key = os.environ.get(spec.api_key_env)
    if not key:
        raise InputError(
            f"The key of {spec.model} is expected in ${spec.api_key_env}, which is not set."
        )
    return key


def _refused(spec: LMSpec, status: int) -> str:
    source = f"the key in ${spec.api_key_env}" if spec.api_key_env else "a request without a key"
    return f"{spec.api_base} refused {source} (HTTP {status}). Set api_key_env to its variable."


def _hide_keys(text: str, key: str | None) -> str:
    if key and key != _NO_KEY:
        text = text.replace(key, "***")
    return _SECRET.sub("***", " ".join(text.split()))[:500]
