"""`reno serve`: a system as a service with a page, or a language model as an OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from reno_dspy.base.config import resolve
from reno_dspy.base.errors import InputError
from reno_dspy.base.extras import require
from reno_dspy.base.files import cache_dir
from reno_dspy.systems import registry

if TYPE_CHECKING:
    from finetune.manifest import Adapter
    from finetune.serving.job import Endpoint, Models


# Names of systems that are also those of a base model, which is what `reno serve` has always served.
_BASES = frozenset({"smollm2-135m"})
# The options of each kind; the others are for both.
_OF_SYSTEMS = frozenset({"prompt", "api_base", "constrain", "corrections", "sets"})
_OF_MODELS = frozenset({"vllm_options", "context", "engine", "vllm_python", "merge"})


@click.command("serve")
@click.argument("what")
@click.argument("vllm_options", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--adapter", "adapters", multiple=True, type=click.Path(path_type=Path),
    help="Output of `reno finetune`. Of a model, give it more than once to serve several.",
)  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=int, help="Port; 0 takes any free one.  [default: a system 8070, a model 0]"
)
@click.option("--max-tokens", type=int, help="Longest answer of a language model, in tokens.")
@click.option(
    "--corrections", type=click.Path(path_type=Path),
    help="A system: folder in which the page saves corrections.",
)  # fmt: skip
@click.option("--prompt", help="A system: its prompt, as for `reno annotate`.")
@click.option("--api-base", help="A system: the endpoint that it asks.")
@click.option("--constrain", help="A system: grammar, as for `reno annotate`.")
@click.option(
    "--set", "sets", multiple=True, metavar="limits.NAME=NUMBER",
    help="A system: a limit (docs/service.md lists them).",
)  # fmt: skip
@click.option(
    "--context", default=4096, show_default=True, help="A model: longest prompt with its answer."
)
@click.option(
    "--engine", default="auto", show_default=True, type=click.Choice(["auto", "vllm", "cpu"]),
    help="A model: auto takes vLLM where it is found, else the CPU engine.",
)  # fmt: skip
@click.option(
    "--vllm-python", type=click.Path(path_type=Path),
    help="A model: Python of the environment with vLLM.  [default: that of `vllm` on the path]",
)  # fmt: skip
@click.option(
    "--merge", type=click.Path(path_type=Path),
    help="A model: write base + adapter as one model to this directory, and stop.",
)  # fmt: skip
@click.pass_context
def command(ctx: click.Context, /, what: str, **options: Any) -> None:
    """Serve a system to browsers and programs, or a language model to systems.

    WHAT is a system (`tagger`, `crf`, a recipe, ...): then this is a web page and an HTTP interface, of
    which a part is GROBID's. With RENO_TOKEN set, clients must send that token.

    Or WHAT is a base model (`smollm2-135m` ships, a model directory, a hub id), with adapters or without:
    then this is an OpenAI-compatible endpoint. What follows `--` goes to vLLM as it is: `reno serve BASE
    -- --gpu-memory-utilization 0.5`.

    Runs until Ctrl-C or SIGTERM.
    """
    given = {
        name for name in options if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
    }
    if _is_system(what):
        _refuse(given & _OF_MODELS, f"{what} is a system, which takes no")
        _serve_system(what, **{name: options[name] for name in given})
    else:
        _refuse(given & _OF_SYSTEMS, f"{what} is a language model, which takes no")
        models = {name: value for name, value in options.items() if name not in _OF_SYSTEMS}
        _serve_model(what, **models)


def _is_system(name: str) -> bool:
    from programs.systems import recipe_names

    if name in _BASES:
        return False
    is_file = name.endswith((registry.CRF_SUFFIX, ".yaml", ".yml"))
    return is_file or name in registry.SYSTEMS or name in recipe_names()


def _refuse(names: set[str], why: str) -> None:
    for name in sorted(names):
        shown = {"sets": "set", "vllm_options": "options after --"}.get(name, name)
        raise InputError(f"{why} {shown if ' ' in shown else registry.flag(shown)}.")


def _serve_system(
    what: str, adapters: tuple[Path, ...] = (), sets: tuple[str, ...] = (), **options: Any
) -> None:
    require("service", f"reno serve {what}")
    from reno_dspy.cli.systems import open_system
    from reno_dspy.service.job import ServiceConfig, serve

    if len(adapters) > 1:
        raise InputError(f"{what} is a system, which takes one --adapter.")
    flags = {"system": what, "adapter": adapters[0] if adapters else None} | options
    config = resolve(ServiceConfig, None, flags, sets)

    def ready(address: str) -> None:
        click.echo(f"Serving {what} at {address}")
        click.echo("Ctrl-C stops it.")

    with open_system(config, cache_dir() / "served" / "server.log") as system:
        serve(config, system, ready, lambda text: click.echo(f"Warning: {text}", err=True))


def _serve_model(
    base: str,
    adapters: tuple[Path, ...],
    host: str,
    port: int | None,
    max_tokens: int | None,
    context: int,
    engine: str,
    vllm_python: Path | None,
    merge: Path | None,
    vllm_options: tuple[str, ...],
) -> None:
    from finetune.serving.job import MAX_TOKENS, Limits, find_models, serve_cpu
    from finetune.serving.vllm import Vllm, find_python, serve_vllm

    models = find_models(base, adapters)
    if merge is not None:
        _merge(models, merge)
        return
    ready = partial(_print, adapters=models.adapters)
    port, max_tokens = port or 0, max_tokens or MAX_TOKENS
    python = None if engine == "cpu" else find_python(vllm_python)
    if vllm_options and python is None:
        raise InputError(f"{' '.join(vllm_options)}: only vLLM takes further options.")
    if python is not None:
        serve_vllm(Vllm(python, context, vllm_options), models, ready, host=host, port=port)
    elif engine == "vllm":
        raise InputError(
            "vLLM is not found. Install it in an environment of its own and name that with "
            "--vllm-python; or use --engine cpu."
        )
    else:
        limits = Limits(max_tokens, context)
        serve_cpu(models, ready, host=host, port=port, limits=limits)


def _merge(models: Models, out: Path) -> None:
    from finetune.models import save_merged

    if len(models.adapters) != 1:
        raise InputError("--merge takes exactly one --adapter.")
    save_merged(models.base, models.adapters[0], out)
    click.echo(f"Written to {out}. Serve it: reno serve {out}")


def _print(endpoints: list[Endpoint], adapters: Sequence[Adapter]) -> None:
    from finetune.serving.job import write_recipe

    for endpoint, adapter in zip_longest(endpoints, adapters):
        recipe = write_recipe(endpoint, adapter)
        click.echo(f"Serving {endpoint.model} at {endpoint.api_base}")
        click.echo(f"  reno evaluate --system {recipe} --data DATA --out DIR")
    click.echo("Ctrl-C stops it.")
