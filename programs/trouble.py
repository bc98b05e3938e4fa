"""Why a request to a language model failed, in plain words, and what to do about it."""

from __future__ import annotations

import re

import dspy
from dspy.utils.exceptions import (
    ContextWindowExceededError,
    LMAuthError,
    LMBillingError,
    LMConfigurationError,
    LMError,
    LMInvalidRequestError,
    LMNotConfiguredError,
    LMRateLimitError,
    LMServerError,
    LMTimeoutError,
    LMTransportError,
    LMUnsupportedModelError,
)

from programs.config import LMSpec
from programs.reply import NoContent
from reno_dspy.base.secrets import redact

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
_LONGEST = 500  # characters of a server's message

# Advice that libraries append to a server's message. It is meant for programmers who call them.
_ADVICE = re.compile(
    r"\s*(?:\n\n {2}(?:To fix:|credential came from)|A gateway or proxy in front|Traceback \().*",
    re.DOTALL,
)
_LITELLM = re.compile(r"\A(?:litellm\.\w+: |(?:\w+Error|Timeout): |\w+Exception - |error - )+")
_TAG = re.compile(r"<[^<>]*>")
_NO_ROUTE = "LLM Provider NOT provided"


def explain(error: Exception, lm: dspy.BaseLM) -> str:
    """A failure of `lm` in plain words, without credentials."""
    if isinstance(error, NoContent):
        return _told(error.message)
    if not isinstance(error, LMError):
        return f"{type(error).__name__}: {_told(str(error))}"
    spec = getattr(lm, "spec", None) or LMSpec(model=lm.model)
    said = _said(error)
    reason = _of_the_model(error, spec, said) or _of_the_request(error, spec, said)
    return reason or _of_the_endpoint(error, spec, said)


def _of_the_model(error: LMError, spec: LMSpec, said: str) -> str | None:
    """A model that is named wrongly, or that lacks its key."""
    if _NO_ROUTE in said:
        return (
            f"{spec.model} names no route: put one in front of the model, such as openai/{spec.model} "
            f"or hosted_vllm/{spec.model} for an OpenAI-compatible endpoint"
        )
    if isinstance(error, LMNotConfiguredError):
        names = " or ".join(f"${name}" for name in getattr(error, "env_keys", ()))
        where = f" in {names}" if names else ""
        return f"{spec.model} needs a key: put it{where} or in the variable that api_key_env names"
    if isinstance(error, LMUnsupportedModelError):
        return f"The endpoint{_at(spec)} does not serve {spec.model}: {said}"
    return None


def _of_the_request(error: LMError, spec: LMSpec, said: str) -> str | None:
    """A request that the model does not take as it is."""
    if isinstance(error, ContextWindowExceededError) or "maximum context length" in said:
        return (
            f"The prompt and the longest answer exceed the model's context: {said} (lower max_tokens, or "
            "serve the model with a longer context)"
        )
    if isinstance(error, LMInvalidRequestError):
        refused = [name for name in ("temperature", "max_tokens", "top_p", "seed") if name in said]
        advice = f" ({refused[0]}: null leaves it out)" if refused else ""
        if error.status == 404:
            advice = " (is its address right? Most end in /v1)"
        status = f" (HTTP {error.status})" if error.status else ""
        return f"The endpoint{_at(spec)} refused the request{status}: {said}{advice}"
    return None


def _of_the_endpoint(error: LMError, spec: LMSpec, said: str) -> str:
    where = _at(spec)
    if isinstance(error, LMTimeoutError):
        late = (
            f"(HTTP {error.status}: {said})" if error.status else f"(timeout: {spec.timeout:g} s)"
        )
        return f"The endpoint{where} gave no whole answer in time {late}"
    if isinstance(error, LMTransportError):
        return f"The endpoint{where} cannot be reached: {said}"
    if isinstance(error, LMAuthError):
        return f"The endpoint{where} refused {credential_of(spec)}: {said}"
    if isinstance(error, LMBillingError):
        return f"The account at the endpoint{where} has no credit left: {said}"
    if isinstance(error, LMRateLimitError):
        return f"The endpoint{where} limits the rate: {said}{_long_wait(error, spec)}"
    if isinstance(error, LMServerError) and error.status:
        return f"The endpoint{where} failed (HTTP {error.status}): {said}"
    return f"The endpoint{where} failed: {said}"


def credential_of(spec: LMSpec) -> str:
    """The credentials that an endpoint refused, and how to give others."""
    if spec.api_key_env:
        return f"the key in ${spec.api_key_env}"
    if spec.headers or spec.api_base is None:
        return "the credentials"
    return "a request without a key (name its variable as api_key_env in its recipe)"


def _at(spec: LMSpec) -> str:
    return f" ({redact(spec.api_base)})" if spec.api_base else ""


def _long_wait(error: LMError, spec: LMSpec) -> str:
    if error.retry_after is None or error.retry_after <= spec.max_wait:
        return ""
    return f" (it asks to wait {error.retry_after:,.0f} s; max_wait is {spec.max_wait:g} s)"


def _said(error: LMError) -> str:
    """What the server or the transport said, without its libraries' advice."""
    said = _LITELLM.sub("", _ADVICE.sub("", error.message or type(error).__name__))
    return _told(said).rstrip(".") or type(error).__name__


def _told(text: str) -> str:
    if "<html" in text.lower():
        text = _TAG.sub(" ", text)
    shown: str = redact(" ".join(text.split()))
    return shown[:_LONGEST]
