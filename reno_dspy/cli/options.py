"""Command-line options made from a job's configuration model, so that the two always agree."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import click
import yaml
from pydantic.fields import FieldInfo

from reno_dspy.base.config import Config, find_recipe, resolve
from reno_dspy.base.secrets import redact

Job = Callable[..., None]
_SCALARS: dict[Any, click.ParamType[Any, Any]] = {
    str: click.STRING,
    int: click.INT,
    float: click.FLOAT,
    bool: click.BOOL,
    Path: click.Path(path_type=Path),
}


def job_options(
    model: type[Config],
    recipes: Path | None = None,
    *,
    argument: str | None = None,
    tracked: bool = True,
    resumed: bool = True,
) -> Callable[[Job], Job]:
    """Give a command one option for every scalar field of `model`, and those of every job.

    The command is called as `f(config, fresh=..., tracking=...)`, without `tracking` for a job that is
    not `tracked`, without `fresh` for one that is not `resumed`. With `recipes`, it takes a RECIPE
    argument (a file, or a name in that folder); without, `--config FILE`. `argument` names the field that
    is given without a flag.
    """

    def decorate(job: Job) -> Job:
        @functools.wraps(job)
        def command(
            *,
            recipe: str | None = None,
            config: Path | None = None,
            sets: tuple[str, ...],
            dry_run: bool,
            **flags: Any,
        ) -> None:
            modes = {name: flags.pop(name) for name in ("fresh", "tracking") if name in flags}
            file = find_recipe(recipe, recipes) if recipe and recipes else config
            resolved = resolve(model, file, flags, sets)
            if dry_run:
                text = yaml.safe_dump(resolved.model_dump(mode="json"), sort_keys=False)
                click.echo(redact(text), nl=False)
            else:
                job(resolved, **modes)

        wrapped: Job = command
        options = [*_model_options(model, argument), *_common_options(recipes, tracked, resumed)]
        for option in reversed(options):
            wrapped = option(wrapped)
        return wrapped

    return decorate


def _model_options(model: type[Config], argument: str | None) -> list[Callable[[Job], Job]]:
    options: list[Callable[[Job], Job]] = []
    for name, field in model.model_fields.items():
        kind = _scalar_type(field.annotation)
        if name == argument:
            options.append(click.argument(name))
        elif kind is not None:
            options.append(_option(name, field, kind))
    return options


def _option(name: str, field: FieldInfo, kind: click.ParamType[Any, Any]) -> Callable[[Job], Job]:
    extra = field.json_schema_extra
    # A field cannot be called `from`.
    flag = str(extra["flag"]) if isinstance(extra, dict) else f"--{name.replace('_', '-')}"
    if kind is click.BOOL:
        flag = f"{flag}/--no-{name.replace('_', '-')}"
    help_text = (field.description or "").strip()
    default = None if field.is_required() else field.get_default(call_default_factory=True)
    if field.is_required():
        help_text = f"{help_text}  [required]"
    elif default is not None:
        help_text = f"{help_text}  [default: {default}]"
    return click.option(flag, name, type=kind, default=None, help=help_text)


def _scalar_type(annotation: Any) -> click.ParamType[Any, Any] | None:
    """The click type of a scalar annotation, `X | None` included; None for anything nested."""
    if get_origin(annotation) in (Union, types.UnionType):
        inner = [part for part in get_args(annotation) if part is not type(None)]
        return _scalar_type(inner[0]) if len(inner) == 1 else None
    if get_origin(annotation) is Literal:
        return click.Choice([str(choice) for choice in get_args(annotation)])
    return _SCALARS.get(annotation)


def _common_options(
    recipes: Path | None, tracked: bool, resumed: bool
) -> list[Callable[[Job], Job]]:
    file = click.option("--config", type=_SCALARS[Path], help="YAML file with these options.")
    tracking = click.option(
        "--tracking/--no-tracking", default=True, help="Log to MLflow.  [default: tracking]"
    )
    fresh = click.option("--fresh", is_flag=True, help="Start over instead of resuming --out.")
    return [
        click.argument("recipe") if recipes else file,
        click.option("--set", "sets", multiple=True, metavar="A.B=C", help="Override one option."),
        click.option("--dry-run", is_flag=True, help="Print the resolved configuration and stop."),
        *([fresh] if resumed else []),
        *([tracking] if tracked else []),
    ]
