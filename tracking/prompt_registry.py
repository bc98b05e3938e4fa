"""Prompts in MLflow's prompt registry: optimized ones go in, any version comes out.

A prompt is kept as the chat that it is: system message, worked examples, and `{{reference}}` for the
reference. Its digest is a tag, so that the same prompt is registered once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from reno_dspy.base.errors import InputError, JobError
from tracking.store import as_mlflows_own, open_client, open_existing, public_uri, store_uri

SCHEME = "prompts:/"
_REFERENCE = "{{reference}}"

Message = Mapping[str, str]


def register_prompt(
    name: str, messages: Sequence[Message], digest: str, run_id: str | None, note: str
) -> str:
    """Register a prompt made by the run `run_id`; return its URI (`prompts:/NAME/VERSION`).

    `messages` are those that ask about the reference `{{reference}}`. A prompt of the same name and
    digest keeps its version. Raises JobError when the store cannot be written.
    """
    name = re.sub(r"[^\w.-]+", "-", name)  # all that a name may hold
    try:
        client = open_client()
        known = client.search_prompt_versions(name) if client.get_prompt(name) else []
        same = [version for version in known if version.tags.get("digest") == digest]
        version = same[0] if same else client.register_prompt(
            name, [dict(m) for m in messages], commit_message=note, tags={"digest": digest}
        )  # fmt: skip
        if run_id is not None:
            # Made in MLflow's global store, whatever the client's own is.
            with as_mlflows_own():
                client.link_prompt_version_to_run(run_id, version)
    except Exception as error:  # an MLflow store fails in many ways; to the user they are one
        raise JobError(
            f"The prompt could not be registered in {public_uri(store_uri())} ({error})."
        ) from error
    return f"{SCHEME}{version.name}/{version.version}"


def load_prompt(uri: str) -> dict[str, Any]:
    """A registered prompt's `name`, `instructions` and `demos` (`reference`, `annotation`).

    `uri` is `prompts:/NAME/VERSION` or `prompts:/NAME@ALIAS`. Raises InputError when there is none,
    or when it was not registered by reno.
    """
    from mlflow.exceptions import MlflowException

    try:
        found = open_existing().load_prompt(uri, allow_missing=True)
    except MlflowException as error:
        raise InputError(f"No prompt {uri} in {public_uri(store_uri())}: {error}") from error
    if found is None:
        raise InputError(f"No prompt {uri} in {public_uri(store_uri())}. `reno ui` lists them.")
    return {"name": found.name, **_read_chat(found.template, uri)}


def _read_chat(template: Any, uri: str) -> dict[str, Any]:
    roles = [message.get("role") for message in template] if isinstance(template, list) else []
    turns = (len(roles) - 2) // 2
    if roles != ["system", *["user", "assistant"] * turns, "user"]:
        raise InputError(f"{uri} is not a prompt of this project: {roles or 'plain text'}.")
    texts = [str(message["content"]) for message in template]
    if texts[-1] != _REFERENCE:
        raise InputError(f"{uri} does not end with {_REFERENCE} alone, as our prompts do.")
    demos = [
        {"reference": reference, "annotation": annotation}
        for reference, annotation in zip(texts[1:-1:2], texts[2:-1:2], strict=True)
    ]
    return {"instructions": texts[0], "demos": demos}
