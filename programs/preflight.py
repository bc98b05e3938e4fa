"""Before a job begins: check that its endpoint is up and answers one request like those of the job.

A wrong key, model, option or context length shows at the first request. This one is a trial: it is not
one of the job's answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dspy
import httpx
from dspy.utils.exceptions import LMConfigurationError, LMError, LMUnsupportedModelError

from programs.chat_format import PlainAdapter
from programs.config import LMSpec
from programs.lm import LM, connection
from programs.reply import NoContent, last_usage
from programs.trouble import credential_of, explain
from reno_dspy.base.errors import InputError, JobError
from reno_dspy.base.secrets import redact

# An invented reference for the trial request.
REFERENCE = "García P, Ito K. Foxes of Nordhaven. J Fict Zool. 2010;12(3):200-9."
TITLE = "Foxes of Nordhaven"

_LISTED = 8  # models that a message names at most


def check_endpoint(spec: LMSpec) -> tuple[str, ...]:
    """The models that the endpoint of `spec` lists; none where it lists none, or has no address.

    Raises JobError when nothing answers there, or when it refuses access.
    """
    if spec.api_base is None:
        return ()
    address, headers = connection(spec)
    models = f"{address.rstrip('/')}/models"
    try:
        answer = httpx.get(models, headers=headers, timeout=min(spec.timeout, 30.0))
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise JobError(
            f"Nothing answers at {redact(spec.api_base)} ({str(error) or type(error).__name__}). Start "
            "the server (`reno serve`, `vllm serve`) or name another endpoint with --api-base."
        ) from None
    if answer.status_code in (401, 403):
        raise JobError(
            f"{redact(spec.api_base)} refused {credential_of(spec)} (HTTP {answer.status_code})."
        )
    return _listed(answer)


def try_out(lm: LM, ask: Callable[[], Any]) -> dict[str, Any]:
    """Let `ask` send one request with `lm`, and return what it used (see `last_usage`).

    An answer without content is not a failure here; the job counts those. Raises InputError when the recipe
    makes no valid request, JobError when the endpoint refuses it or fails.
    """
    models = check_endpoint(lm.spec)
    own = lm.copy()
    try:
        with dspy.context(lm=own, adapter=PlainAdapter()):
            ask()
    except NoContent:
        pass
    except LMError as error:
        reason = explain(error, own)
        if isinstance(error, LMUnsupportedModelError) and models:
            reason += f". It serves {', '.join(models[:_LISTED])}"
        if isinstance(error, LMConfigurationError):
            raise InputError(f"{reason}.") from error
        raise JobError(f"{reason}.") from error
    return last_usage(own)


def _listed(answer: httpx.Response) -> tuple[str, ...]:
    try:
        return tuple(str(model["id"]) for model in answer.json()["data"])
    except (ValueError, KeyError, TypeError):
        return ()
