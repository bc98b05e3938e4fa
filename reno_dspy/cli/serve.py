"""`reno serve`: a base model or adapters as an OpenAI-compatible endpoint on loopback."""

from __future__ import annotations

from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reno_dspy.base.errors import InputError

if TYPE_CHECKING:
    from finetune.base import Base
    from finetune.manifest import Adapter
    from finetune.serving.job import Endpoint


@click.command("serve")
@click.argument("base")
@click.argument("vllm_options", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--adapter", "adapters", multiple=True, type=click.Path(path_type=Path),
    help="Output of `reno finetune`; give it more than once to serve several.",
)  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=0, show_default=True, help="Port; 0 takes any free one.")
@click.option(
    "--max-tokens", default=1024, show_default=True,
    help="Longest answer where a request sets none (CPU engine).",
)  # fmt: skip
@click.option("--context", default=4096, show_default=True, help="Longest prompt with its answer.")
@click.option(
    "--engine", default="auto", show_default=True, type=click.Choice(["auto", "vllm", "cpu"]),
    help="auto: vLLM where it is found, else the CPU engine.",
)  # fmt: skip
@click.option(
    "--vllm-python", type=click.Path(path_type=Path),
    help="Python of the environment that has vLLM.  [default: the one of `vllm` on the path]",
)  # fmt: skip
@click.option(
    "--merge", type=click.Path(path_type=Path),
    help="Write base + adapter as one model to this directory, and stop.",
)  # fmt: skip
def command(
    base: str,
    adapters: tuple[Path, ...],
    host: str,
    port: int,
    max_tokens: int,
    context: int,
    engine: str,
    vllm_python: Path | None,
    merge: Path | None,
    vllm_options: tuple[str, ...],
) -> None:
    """Serve a base model, or adapters on it, as an OpenAI-compatible endpoint.

    BASE is `smollm2-135m` (ships), a model directory or a hub id. Runs until Ctrl-C or SIGTERM. What
    follows `--` goes to vLLM as it is: `reno serve BASE -- --gpu-memory-utilization 0.5`.
    """
    from finetune.serving.job import find_models, serve_cpu
    from finetune.serving.vllm import find_python, serve_vllm

    found, checked = find_models(base, adapters)
    if merge is not None:
        _merge(found, checked, merge)
        return
    ready = partial(_print, adapters=checked)
    python = None if engine == "cpu" else find_python(vllm_python)
    if vllm_options and python is None:
        raise InputError(f"{' '.join(vllm_options)}: only vLLM takes further options.")
    if python is not None:
        serve_vllm(
            python, found, checked, ready,
            host=host, port=port, context=context, options=vllm_options,
        )  # fmt: skip
    elif engine == "vllm":
        raise InputError(
            "vLLM is not found. Install it in an environment of its own and name that with "
            "--vllm-python; or use --engine cpu."
        )
    else:
        serve_cpu(
            found, checked, ready, host=host, port=port, max_tokens=max_tokens, context=context
        )


def _merge(base: Base, adapters: list[Adapter], out: Path) -> None:
    from finetune.models import save_merged

    if len(adapters) != 1:
        raise InputError("--merge takes exactly one --adapter.")
    save_merged(base, adapters[0], out)
    click.echo(f"Written to {out}. Serve it: reno serve {out}")


def _print(endpoints: list[Endpoint], adapters: list[Adapter]) -> None:
    from finetune.serving.job import write_recipe

    for endpoint, adapter in zip_longest(endpoints, adapters):
        recipe = write_recipe(endpoint, adapter)
        click.echo(f"Serving {endpoint.model} at {endpoint.api_base}")
        click.echo(f"  reno evaluate --system {recipe} --data DATA --out DIR")
    click.echo("Ctrl-C stops it.")
