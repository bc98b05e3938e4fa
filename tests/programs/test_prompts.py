"""The shipped prompts hold true examples; files round-trip; bad ones are answered plainly."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from programs.prompts import Prompt, load, save, shipped
from reno_dspy.base.errors import InputError


def test_the_examples_lose_and_invent_nothing() -> None:
    demos = [demo for name in shipped() for demo in load(name).demos]
    assert len(demos) == 2
    for demo in demos:
        assert "".join(ElementTree.fromstring(demo.annotation).itertext()) == demo.reference


def test_round_trip_keeps_the_digest(tmp_path: Path) -> None:
    prompt = load("two-shot")
    save(prompt, tmp_path / "p.json")
    assert load(tmp_path / "p.json") == prompt
    assert load(tmp_path / "p.json").digest == prompt.digest


def test_the_digest_is_of_the_content() -> None:
    prompt = load("two-shot")
    assert prompt.model_copy(update={"name": "other"}).digest == prompt.digest
    assert prompt.model_copy(update={"demos": prompt.demos[:1]}).digest != prompt.digest
    assert len(prompt.digest) == 12


@pytest.mark.parametrize("text", ["", "[1]", '{"instructions": 3}', "{not json", '{"demos": []}'])
def test_a_file_that_is_no_prompt(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(InputError, match="not a prompt file"):
        load(path)


def test_an_unknown_name_lists_what_ships() -> None:
    with pytest.raises(InputError, match="two-shot, zero-shot"):
        load("no-such-prompt")


def test_a_prompt_may_do_without_examples() -> None:
    assert Prompt(name="n", instructions="i").demos == ()
