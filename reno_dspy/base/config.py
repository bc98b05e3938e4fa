"""Configuration of jobs: a pydantic model, filled from a YAML file, then flags, then `--set a.b=c`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from reno_dspy.base.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True)
class _FreeMark:
    """The mark of a `Free` option."""


# The type of an option that may differ between a run and its resumption, since no result depends on it:
# `out: Free[Path] = Field(...)`.
Free = Annotated[T, _FreeMark()]


class Config(BaseModel):
    """Base of every configuration: frozen, unknown keys refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    def identity(self) -> dict[str, Any]:
        """What a run's results depend on, as JSON values: all but `Free` options, here and in groups."""
        values = self.model_dump(mode="json")
        for name, field in type(self).model_fields.items():
            if _FreeMark() in field.metadata:
                del values[name]
            elif isinstance(group := getattr(self, name), Config):
                values[name] = group.identity()
        return values


ConfigT = TypeVar("ConfigT", bound=Config)


def resolve(
    model: type[ConfigT],
    file: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    sets: Sequence[str] = (),
) -> ConfigT:
    """The configuration from `file`, overridden by `flags` (None = not given), then by `sets`.

    Raises InputError naming each key that is unknown, missing or wrong, and the file or the option that
    it comes from.
    """
    values = read_yaml(file) if file else {}
    sources = dict.fromkeys(values, f"In {file}")
    for name, value in (flags or {}).items():
        if value is not None:
            values[name] = value
            sources[name] = f"In --{name.replace('_', '-')}"
    for assignment in sets:
        _assign(values, assignment)
        sources[assignment.partition("=")[0]] = f"In --set {assignment}"
    return validate(model, values, sources, f"In {file}" if file else "In the options")


def validate(
    model: type[ConfigT],
    values: Mapping[str, Any],
    sources: Mapping[str, str] | None = None,
    where: str = "In the options",
) -> ConfigT:
    """The configuration with these `values`.

    `sources` says where the value of a dotted key comes from, `where` the same for all others. Raises
    InputError as `resolve` does.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise InputError(_explain(error, model, sources or {}, where)) from None


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
        kinds = [field.annotation, *get_args(field.annotation)] if field else []
        inner = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if not inner:
            break
        model = inner[0]
    return model


def _explain(
    error: ValidationError, model: type[Config], sources: Mapping[str, str], where: str
) -> str:
    problems: dict[str, list[str]] = {}
    for problem in error.errors():
        key = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            known = ", ".join(sorted(_model_at(model, problem["loc"][:-1]).model_fields))
            said = f"unknown option. Known here: {known}."
        elif problem["type"] == "missing":
            option = f"--set {key}=VALUE" if "." in key else f"--{key.replace('_', '-')}"
            said = f"required ({option})."
        elif problem["type"] == "value_error":
            said = f"{problem['msg'].removeprefix('Value error, ')}."
        else:
            said = f"{problem['msg']} (got {problem['input']!r})."
        source = _source(problem["loc"], sources) or where
        problems.setdefault(source, []).append(f"  {key}: {said}" if key else f"  {said}")
    return "\n".join(f"{source}:\n" + "\n".join(lines) for source, lines in problems.items())


def _source(place: Sequence[int | str], sources: Mapping[str, str]) -> str | None:
    """Where the value at `place` comes from: of its key, else of what gave its group or is in it."""
    for length in range(len(place), 0, -1):
        key = ".".join(map(str, place[:length]))
        inside = (name for name in sources if name.startswith(f"{key}."))
        found = sources.get(key) or next((sources[name] for name in inside), None)
        if found:
            return found
    return None
