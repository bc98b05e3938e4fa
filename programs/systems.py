"""Language models as systems, by recipe. Imports no DSPy before a recipe is found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from programs.config import SYSTEMS, SystemRecipe
from reno_dspy.base.config import resolve
from reno_dspy.systems import registry

if TYPE_CHECKING:
    from programs.annotate import LMSystem
    from reno_dspy.systems.options import SystemOptions


def recipe_names() -> list[str]:
    """The recipes that ship, by name."""
    return sorted(path.stem for path in SYSTEMS.glob("*.yaml"))


def load_recipe(name: str) -> SystemRecipe:
    """The recipe of a language model: one that ships, or a YAML file.

    Raises InputError when there is none, or when it is not one.
    """
    if (found := _find(name)) is None:
        raise registry.unknown("recipe", name, recipe_names(), "RECIPE.yaml")
    return resolve(SystemRecipe, found)


def _find(name: str) -> Path | None:
    files = (Path(name), SYSTEMS / f"{name}.yaml")
    return next((path for path in files if path.is_file()), None)


def from_options(options: SystemOptions, _log: Path) -> LMSystem:
    """The system of a recipe; what `options` give replaces the recipe's own.

    Raises InputError for an unknown name, a wrong prompt, or a key that is not set.
    """
    if _find(options.system) is None:
        names = [*registry.SYSTEMS, *recipe_names()]
        files = f"MODEL{registry.CRF_SUFFIX}, RECIPE.yaml"
        raise registry.unknown("system", options.system, names, files)
    recipe = load_recipe(options.system)
    from programs import prompts
    from programs.annotate import LMSystem

    given = {
        "api_base": options.api_base,
        "max_tokens": options.max_tokens,
        "seed": options.system_seed,
    }
    update = {key: value for key, value in given.items() if value is not None}
    prompt = prompts.load(options.prompt or recipe.prompt)
    spec = recipe.lm.changed(**update)
    return LMSystem(recipe.name, spec, prompt, recipe.concurrency, options.constrain)
