"""Serve a base model, or adapters on it, as an OpenAI-compatible endpoint on loopback.

    reno serve smollm2-135m --adapter runs/finetune

Adapters are served under a name that carries their digest (`smollm2-135m+0123456789ab`), so that no
cache or table can mix two of them up. Without a GPU they are merged into the weights.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from finetune.base import Base, resolve_base
from finetune.manifest import PROMPT, Adapter, load_adapter
from reno_dspy.base.child_server import child_server, python_module
from reno_dspy.base.errors import InputError
from reno_dspy.base.files import cache_dir, write_json, write_text
from reno_dspy.base.listening import address_of, listening, run_app

if TYPE_CHECKING:
    from finetune.serving.server import Served

MAX_TOKENS = 1024
CONTEXT = 4096
SLOTS = 16


@dataclass(frozen=True)
class Endpoint:
    """Where a server answers (`http://127.0.0.1:PORT/v1`) and the model to ask there."""

    api_base: str
    model: str


Ready = Callable[[list[Endpoint]], None]


@dataclass(frozen=True)
class Models:
    """What a server serves: the adapters on a base or, without any, the base itself."""

    base: Base
    adapters: Sequence[Adapter] = ()

    def names(self) -> list[str]:
        """The names under which clients ask for them."""
        return [adapter.name() for adapter in self.adapters] or [self.base.name]


@dataclass(frozen=True)
class Limits:
    """The longest answer, the longest prompt with its answer (tokens), requests worked on at once."""

    max_tokens: int = MAX_TOKENS
    context: int = CONTEXT
    slots: int = SLOTS


def find_models(base: str, adapters: Sequence[Path]) -> Models:
    """The base and the adapters, checked against each other. Raises InputError."""
    found = resolve_base(base)
    loaded = [load_adapter(path, found) for path in adapters]
    for adapter in loaded:
        if adapter.manifest.labels:
            raise InputError(
                f"{adapter.path} is a tagger, which writes nothing that a server could send: "
                "`reno annotate --system tagger-smollm2 --adapter ...`."
            )
    return Models(found, loaded)


def write_recipe(endpoint: Endpoint, adapter: Adapter | None) -> Path:
    """Write a system recipe for `endpoint` to the cache, for `reno evaluate --system`.

    A model is asked with the prompt that its adapter was trained with, a base with two examples.
    """
    recipe = {
        "name": endpoint.model,
        "lm": {"model": f"openai/{endpoint.model}", "api_base": endpoint.api_base},
        "prompt": str((adapter.path / PROMPT).resolve()) if adapter else "two-shot",
    }
    path = cache_dir() / "served" / f"{endpoint.model}.yaml"
    write_text(path, yaml.safe_dump(recipe, sort_keys=False))
    return path


def serve_cpu(
    models: Models,
    ready: Ready,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    limits: Limits = Limits(),
) -> None:
    """Serve on this CPU until SIGTERM or Ctrl-C; `ready` is called once requests are answered.

    Raises InputError for a port in use.
    """
    from finetune.serving.server import make_app

    with listening(host, port) as listener:
        adapters = models.adapters or (None,)
        served = {
            name: _load(models.base, adapter, limits)
            for name, adapter in zip(models.names(), adapters, strict=True)
        }
        endpoints = [Endpoint(f"{address_of(listener)}/v1", name) for name in served]
        run_app(make_app(served, limits.max_tokens), listener, lambda: ready(endpoints))


def _load(base: Base, adapter: Adapter | None, limits: Limits) -> Served:
    from finetune.cpu import halve_linears, has_bfloat16
    from finetune.models import load_model, load_tokenizer, stop_tokens
    from finetune.serving.engine import Engine
    from finetune.serving.server import Served

    tokenizer = load_tokenizer(base)
    model = load_model(base, adapter)
    stop = stop_tokens(model, tokenizer)
    if has_bfloat16():
        halve_linears(model.requires_grad_(False))
    context = min(limits.context, model.config.max_position_embeddings)
    return Served(Engine(model, stop, limits.slots, context), tokenizer)


@contextmanager
def local_server(base: str, adapter: Path | None, log: Path) -> Iterator[Endpoint]:
    """A server in a child process on a free port, ready when this yields, stopped on leaving.

    It also stops when this process dies. Its output goes to `log`. Raises InputError for a base or an
    adapter that does not fit, JobError when the server dies before it is ready.
    """
    find_models(base, [adapter] if adapter else [])
    with tempfile.TemporaryDirectory(prefix="reno-serve-") as folder:
        ready = Path(folder) / "ready.json"
        command = python_module("finetune.serving.job", base, "--ready", str(ready))
        if adapter:
            command += ["--adapter", str(adapter)]
        with child_server("The model server", command, log=log) as server:
            server.wait_until(ready.exists)
            yield Endpoint(**json.loads(ready.read_text(encoding="utf-8")))


def _main() -> None:
    """The child of `local_server`: serves until it is stopped."""
    parser = argparse.ArgumentParser(prog="python -m finetune.serving.job")
    parser.add_argument("base")
    parser.add_argument("--adapter", type=Path)
    parser.add_argument("--ready", type=Path, required=True)
    options = parser.parse_args()

    def ready(endpoints: list[Endpoint]) -> None:
        write_json(options.ready, endpoints[0].__dict__)

    models = find_models(options.base, [options.adapter] if options.adapter else [])
    serve_cpu(models, ready)


if __name__ == "__main__":
    _main()
