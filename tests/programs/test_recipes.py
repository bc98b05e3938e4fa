"""The recipes that ship: they resolve, and they are the paper's systems."""

from __future__ import annotations

from pathlib import Path

import pytest

from programs import prompts
from programs.config import JOBS, SYSTEMS, OptimizeConfig
from programs.optimize.budget import plan_job
from programs.systems import from_options, load_recipe
from reno_dspy.base.config import resolve
from reno_dspy.base.errors import InputError
from reno_dspy.measure.job import EvaluateConfig
from reno_dspy.systems.options import SystemOptions

# The language models of table 1.
PAPER = {
    "Qwen/Qwen2.5-3B-Instruct",
    "Qwen/Qwen2.5-7B-Instruct",
    "Qwen/Qwen3-0.6B",
    "Qwen/Qwen3-0.6B + cometadata/citation-parsing-lora",
    "Qwen/Qwen3-8B",
    "Qwen/Qwen3-32B",
    "google/gemma-3-1b-it",
    "meta-llama/Llama-3.1-8B-Instruct",
    "mistralai/Mistral-7B-Instruct-v0.2",
    "openai/gpt-oss-20b",
}


def test_every_language_model_of_table_1_has_a_recipe() -> None:
    recipes = [load_recipe(path.stem) for path in SYSTEMS.glob("*.yaml")]
    assert {recipe.name for recipe in recipes} == PAPER
    assert {recipe.prompt for recipe in recipes} == {"two-shot"}
    for recipe in recipes:
        assert str(recipe.lm.api_base).startswith("http://127.0.0.1:")
        thinks = "Qwen3" in recipe.name
        assert ("chat_template_kwargs" in recipe.lm.extra_body) == thinks


@pytest.mark.parametrize("path", sorted(JOBS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_job_allows_two_proposals(path: Path) -> None:
    config = resolve(OptimizeConfig, path, {"data": "d", "out": "o"})
    planned = plan_job(config, config.dev_size)
    assert planned.at_least >= 2
    assert prompts.load(config.prompt)
    if config.student != "embedded":
        assert load_recipe(config.student)


def test_the_demos_budget_is_small() -> None:
    config = resolve(OptimizeConfig, JOBS / "embedded.yaml", {"data": "d", "out": "o"})
    assert config.max_metric_calls == 16


def test_what_is_given_replaces_the_recipes_own() -> None:
    given = {"prompt": "zero-shot", "api_base": "http://h/v1", "max_tokens": 5}
    options = SystemOptions.model_validate({"system": "qwen3-0.6b"} | given)
    system = from_options(options, Path("unused.log"))
    assert system.prompt == prompts.load("zero-shot")
    assert (system.spec.api_base, system.spec.max_tokens) == ("http://h/v1", 5)


@pytest.mark.parametrize(("given", "seed"), [({}, 3), ({"seed": 0}, 0), ({"seed": 7}, 7)])
def test_the_seed_of_an_evaluation_reaches_the_lm_if_it_is_given(
    given: dict[str, int], seed: int, tmp_path: Path
) -> None:
    recipe = tmp_path / "lm.yaml"
    recipe.write_text("name: x\nlm: {model: openai/m, api_base: http://h/v1, seed: 3}\n")
    options = EvaluateConfig.model_validate(
        {"system": str(recipe), "data": "d", "out": "o"} | given
    )
    assert from_options(options, Path("unused.log")).spec.seed == seed


def test_an_unknown_recipe_lists_what_ships() -> None:
    with pytest.raises(InputError, match=r"gpt-oss-20b.*qwen3-0\.6b"):
        load_recipe("no-such-system")


def test_an_unknown_option_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("name: x\nlm: {model: openai/m, temprature: 1}\n")
    with pytest.raises(InputError, match=r"lm\.temprature: unknown option"):
        load_recipe(str(path))
