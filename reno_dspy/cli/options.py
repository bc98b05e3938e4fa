"""Command-line options made from a job's configuration model, so that both say the same."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import click
import yaml
from pydantic.fields import FieldInfo

from reno_dspy.config import Config, find_recipe, resolve

Job = Callable[..., None]
_SCALARS = (str, int, float, bool, Path)


def job_options(model: type[Config], recipes: Path | None = None) -> Callable[[Job], Job]:
    """Give a command one option for every scalar field of `model`, and those of every job.

    The command is called as `f(config, fresh=..., tracking=...)`. With `recipes`, it takes a RECIPE
    argument (a file, or a name in that folder); without, `--config FILE`.
    """

    def decorate(job: Job) -> Job:
        @functools.wraps(job)
        def command(
            *,
            recipe: str | None = None,
            config: Path | None = None,
            sets: tuple[str, ...],
            dry_run: bool,
            fresh: bool,
            tracking: bool,
            **flags: Any,
        ) -> None:
            file = find_recipe(recipe, recipes) if recipe and recipes else config
            resolved = resolve(model, file, flags, sets)
            if dry_run:
                click.echo(
                    yaml.safe_dump(resolved.model_dump(mode="json"), sort_keys=False), nl=False
                )
                return
            job(resolved, fresh=fresh, tracking=tracking)

        wrapped: Job = command
        for option in reversed([*_model_options(model), *_common_options(recipes)]):
            wrapped = option(wrapped)
        return wrapped

    return decorate


def _model_options(model: type[Config]) -> list[Callable[[Job], Job]]:
    options = []
    for name, field in model.model_fields.items():
        kind = _scalar_type(field.annotation)
        if kind is not None:
            options.append(_option(name, field, kind))
    return options


def _option(name: str, field: FieldInfo, kind: click.ParamType) -> Callable[[Job], Job]:
    flag = f"--{name.replace('_', '-')}"
    if kind is click.BOOL:
        flag = f"{flag}/--no-{name.replace('_', '-')}"
    help_text = (field.description or "").strip()
    if field.is_required():
        help_text = f"{help_text}  [required]"
    else:
        default = field.get_default(call_default_factory=True)
        help_text = f"{help_text}  [default: {'none' if default is None else default}]"
    return click.option(flag, name, type=kind, default=None, help=help_text)


def _scalar_type(annotation: Any) -> click.ParamType | None:
    """The click type of a scalar annotation, `X | None` included; None for anything nested."""
    if get_origin(annotation) in (Union, types.UnionType):
        inner = [part for part in get_args(annotation) if part is not type(None)]
        return _scalar_type(inner[0]) if len(inner) == 1 else None
    if get_origin(annotation) is Literal:
        return click.Choice([str(choice) for choice in get_args(annotation)])
    if annotation is Path:
        return click.Path(path_type=Path)
    if annotation in _SCALARS:
        return click.types.convert_type(annotation)
    return None


def _common_options(recipes: Path | None) -> list[Callable[[Job], Job]]:
    source = (
        click.argument("recipe")
        if recipes
        else click.option(
            "--config", type=click.Path(path_type=Path), help="YAML file with these options."
        )
    )
    return [
        source,
        click.option("--set", "sets", multiple=True, metavar="A.B=C", help="Override one option."),
        click.option("--dry-run", is_flag=True, help="Print the resolved configuration and stop."),
        click.option("--fresh", is_flag=True, help="Start over instead of resuming --out."),
        click.option(
            "--tracking/--no-tracking", default=True, help="Log to MLflow.  [default: tracking]"
        ),
    ]
