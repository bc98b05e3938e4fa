"""Configuration of jobs: a pydantic model, filled from a YAML file, then flags, then `--set a.b=c`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from reno_dspy.base.errors import InputError


class Config(BaseModel):
    """Base of every configuration: frozen, unknown keys refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    # Options that may differ between a run and its resumption, since no result depends on them.
    free: ClassVar[frozenset[str]] = frozenset({"out"})

    def identity(self) -> dict[str, Any]:
        """What a run's results depend on, as JSON values: all but the `free` options."""
        return self.model_dump(mode="json", exclude=set(self.free))


ConfigT = TypeVar("ConfigT", bound=Config)


def resolve(
    model: type[ConfigT],
    file: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    sets: Sequence[str] = (),
) -> ConfigT:
    """The configuration from `file`, overridden by `flags` (None = not given), then by `sets`.

    Raises InputError naming the file or option and each key that is unknown, missing or wrong.
    """
    values = read_yaml(file) if file else {}
    values |= {name: value for name, value in (flags or {}).items() if value is not None}
    for assignment in sets:
        _assign(values, assignment)
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise InputError(_explain(error, model, file)) from None


def read_yaml(file: Path) -> dict[str, Any]:
    """A YAML mapping from `file`. Raises InputError when it is missing or is not one."""
    try:
        value = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"Cannot read {file}: {error.strerror}.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{file} is not valid YAML: {error}") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(f"{file} must hold `key: value` lines, not a {type(value).__name__}.")
    return value


def find_recipe(name: str, folder: Path) -> Path:
    """The YAML file of a recipe: a path, or the name of one that ships in `folder`.

    Raises InputError that lists the recipes that ship.
    """
    for path in (Path(name), folder / f"{name}.yaml"):
        if path.is_file():
            return path
    shipped = ", ".join(sorted(path.stem for path in folder.glob("*.yaml")))
    raise InputError(f"No recipe {name!r}: neither a file nor one that ships ({shipped}).")


def _assign(values: dict[str, Any], assignment: str) -> None:
    path, equals, text = assignment.partition("=")
    if not equals or not path:
        raise InputError(f"--set takes KEY=VALUE or GROUP.KEY=VALUE, not {assignment!r}.")
    *groups, key = path.split(".")
    for group in groups:
        inner = values.get(group)
        values[group] = values = dict(inner) if isinstance(inner, dict) else {}
    try:
        values[key] = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"--set {assignment}: the value is not valid YAML: {error}") from None


def _model_at(model: type[BaseModel], path: Sequence[int | str]) -> type[BaseModel]:
    """The nested model that `path` leads to, as far as models go."""
    for name in path:
        field = model.model_fields.get(str(name))
        if field is None or not isinstance(field.annotation, type):
            break
        if not issubclass(field.annotation, BaseModel):
            break
        model = field.annotation
    return model


def _explain(error: ValidationError, model: type[Config], file: Path | None) -> str:
    where = f"In {file}" if file else "In the options"
    lines = []
    for problem in error.errors():
        key = ".".join(str(part) for part in problem["loc"]) or "(all)"
        if problem["type"] == "extra_forbidden":
            known = ", ".join(sorted(_model_at(model, problem["loc"][:-1]).model_fields))
            lines.append(f"  {key}: unknown option. Known here: {known}.")
        elif problem["type"] == "missing":
            lines.append(f"  {key}: required (--{key.replace('_', '-')}).")
        else:
            lines.append(f"  {key}: {problem['msg']} (got {problem['input']!r}).")
    return f"{where}:\n" + "\n".join(lines)
