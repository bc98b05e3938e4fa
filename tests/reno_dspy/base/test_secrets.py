"""No credential is left, wherever it stands, and other text is left alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reno_dspy.base import secrets
from reno_dspy.base.secrets import keep_secret, redact

# What keys and passwords are made of, as far as it needs no quoting in an address.
SECRETS = st.text(
    st.characters(codec="ascii", categories=["Lu", "Ll", "Nd"], include_characters="-_.~"),
    min_size=8,
    max_size=60,
)
PLACES = (
    "http://me:{}@127.0.0.1:8000/v1",
    "https://{}@host/v1/chat/completions refused it",
    "https://host/v1?api-version=1&key={}",
    "https://host/v1?access_token={}#x",
    "Incorrect API key provided: Bearer {}. Find yours at https://x",
    "Authorization: Basic {}",
    "lm.extra_body.api_key={}",
    "{{'api_key': '{}'}}",
    '{{"client_secret": "{}"}}',
)


@given(SECRETS, st.sampled_from(PLACES))
def test_no_credential_is_left_where_one_is_expected(secret: str, place: str) -> None:
    assert secret not in redact(place.format(secret)).replace("***", "")


@given(SECRETS, st.text(), st.text(), st.sampled_from(("x-api-key", "auth_token", "Authorization")))
def test_a_known_secret_is_left_nowhere(secret: str, before: str, after: str, name: str) -> None:
    keep_secret(secret)
    value = {"a": [before + secret + after, {name: f"{secret}"}], "b": f"%22{secret}%22"}
    shown = json.dumps(redact(value), ensure_ascii=False)
    secrets._given.clear()
    assert secret not in shown


def test_variables_that_are_named_like_keys_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTKEY_API_KEY", "a+quite/odd=key")
    monkeypatch.setenv("SHORT_TOKEN", "is")
    assert redact("It is a+quite/odd=key.") == "It is ***."


@pytest.mark.parametrize(
    "value",
    [
        "Ito K. Foxes: a key to their dens. J Token Stud. 2010. https://doi.org/10.5555/x?lang=pt",
        "Basic research at https://host:8000/v1, ask me@host",
        "In light.yaml: reflection.api_key_env: required. max_tokens=1024",
        {
            "max_tokens": "384",
            "eos_token": "<|im_end|>",
            "api_key": None,
            "password": "",
            "n": [1, 2.5],
        },
        "sk-1",
    ],
)
def test_other_text_is_left_alone(value: object) -> None:
    assert redact(value) == value
