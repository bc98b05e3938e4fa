"""The table of systems: what each is, where it is, and which options it takes.

Everything that names a system reads this table: `open_system`, `--help`, the README (a test compares
them), and the error for a name that is none. To add a system, write a class with a constructor like
`Factory` and add a line here; a language model needs no code, only a recipe (`programs/recipes/systems`).

A system may live in a package above this one. The table names it as text, so that nothing is imported
before somebody asks for that system.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from reno_dspy.base import show
from reno_dspy.base.errors import InputError
from reno_dspy.base.extras import require
from reno_dspy.systems import ClosableSystem, System

if TYPE_CHECKING:
    from reno_dspy.systems.options import SystemOptions

# Makes a system from its options; a server that it starts logs to the path.
Factory = Callable[["SystemOptions", Path], System]


@dataclass(frozen=True)
class Entry:
    """One system: its factory as `module:name`, a line for people, the options that it takes.

    `extra` names the part of an installation that it needs besides the core.
    """

    factory: str
    about: str
    takes: frozenset[str] = frozenset()
    extra: str | None = None


# The options of systems that compute in their own process, which can be several (`systems/workers.py`).
ON_WORKERS = frozenset({"engine", "workers"})

SYSTEMS: Mapping[str, Entry] = {
    "tagger": Entry(
        "reno_dspy.systems.tagger.model:Tagger.from_options",
        "labels every word with a small multilingual encoder, in onnxruntime",
        frozenset({"adapter"}) | ON_WORKERS,
    ),
    "tagger-smollm2": Entry(
        "finetune.tagger.system:Tagger.from_options",
        "a tagger of your own on a language model's lower layers (`reno finetune tagger-smollm2`)",
        frozenset({"adapter"}) | ON_WORKERS,
        "models",
    ),
    "crf": Entry(
        "reno_dspy.systems.crf.model:Crf.from_options",
        "labels every token with a conditional random field: the classical baseline, small and fast",
        ON_WORKERS,
    ),
    "embedded": Entry(
        "finetune.serving.embedded:EmbeddedSystem.from_options",
        "SmolLM2-135M-Instruct with a LoRA adapter, which writes JATS token by token",
        frozenset({"adapter", "prompt", "max_tokens"}),
        "serve",
    ),
    "smollm2-135m": Entry(
        "finetune.serving.embedded:EmbeddedSystem.from_options",
        "the same model without an adapter; the prompt shows it two examples",
        frozenset({"prompt", "max_tokens"}),
        "serve",
    ),
    "grobid": Entry(
        "reno_dspy.systems.grobid.client:Grobid.from_options",
        "a GROBID server, over its REST API",
        frozenset({"api_base"}),
    ),
    "anystyle": Entry(
        "reno_dspy.systems.anystyle:AnyStyle.from_options",
        "the command `anystyle`, where it is installed",
        ON_WORKERS,
    ),
}
CRF_SUFFIX = ".crfsuite"
CRF_FILE = Entry(SYSTEMS["crf"].factory, "a CRF of your own, from `reno train-crf`", ON_WORKERS)
RECIPE = Entry(
    "programs.systems:from_options",
    "a language model at an OpenAI-compatible endpoint; recipes that ship are in programs/recipes/systems",
    frozenset({"prompt", "api_base", "max_tokens", "constrain"}),
    "lm",
)
# Every kind of name that `--system` takes, in the order in which people are shown them.
ROWS: Mapping[str, Entry] = {
    **SYSTEMS,
    f"FILE{CRF_SUFFIX}": CRF_FILE,
    "RECIPE or FILE.yaml": RECIPE,
}
# The options that not every system takes.
OPTIONS = frozenset(name for entry in ROWS.values() for name in entry.takes)
_NO_WORKERS = (
    "A server does the work of this system; --concurrency says how many requests it gets at once."
)
# What to do instead, for those that are easily expected of every system.
_INSTEAD = {
    "engine": _NO_WORKERS,
    "workers": _NO_WORKERS,
    "adapter": "A language model's adapter is served by `reno serve BASE --adapter DIR`, which prints "
    "a recipe for --system.",
    "constrain": "Grammars need vLLM: `reno serve BASE --vllm-python PYTHON` prints a recipe for "
    "--system.",
}


def entry_of(name: str) -> Entry:
    """The entry of a name: one in the table, FILE.crfsuite, or, for all others, a recipe's."""
    return SYSTEMS.get(name) or (CRF_FILE if name.endswith(CRF_SUFFIX) else RECIPE)


@contextmanager
def open_system(options: SystemOptions, log: Path) -> Iterator[System]:
    """The system that `options` name, on its workers; what it has started ends with the context.

    A server that it starts writes to `log`. Raises InputError as `create`.
    """
    system = create(options, log)
    if options.on_workers:
        # It opens systems itself, in its workers.
        from reno_dspy.systems.workers import OnWorkers

        system = OnWorkers(system, options)
    try:
        yield system
    finally:
        if isinstance(system, ClosableSystem):
            system.close()


def create(options: SystemOptions, log: Path) -> System:
    """The system that `options` name, in this process.

    Raises InputError for an unknown name, for a missing package, and for what the system itself cannot use.
    """
    try:
        return _factory(options.system)(options, log)
    except ModuleNotFoundError:
        extra = entry_of(options.system).extra
        if extra:
            require(extra, f"--system {options.system}", "--system crf works without it.")
        raise


def is_file(name: str) -> bool:
    """Whether a system's name is that of its file."""
    return name not in SYSTEMS and Path(name).is_file()


def _factory(name: str) -> Factory:
    module, _, function = entry_of(name).factory.partition(":")
    factory: Factory = attrgetter(function)(importlib.import_module(module))
    return factory


def refusal(system: str, given: Collection[str]) -> str | None:
    """Why `system` cannot use the options `given`; None where it takes them all."""
    if not (refused := sorted(set(given) - entry_of(system).takes)):
        return None
    name = refused[0]
    others = ", ".join(row for row, entry in ROWS.items() if name in entry.takes)
    return (
        f"{system} takes no {flag(name)}, but these do: {others}. {_INSTEAD.get(name, '')}".rstrip(
            " ."
        )
    )


def unknown(what: str, name: str, names: Collection[str], files: str) -> InputError:
    """The error for a name that is none of `names`, nor a file; `what` it should be, in a word."""
    close = get_close_matches(name, names, 1)
    hint = f" Did you mean {close[0]}?" if close else ""
    return InputError(
        f"No {what} {name!r}.{hint} There are {', '.join(names)}, and files: {files}."
    )


def flag(name: str) -> str:
    """An option as it is typed."""
    return f"--{name.replace('_', '-')}"


def markdown_table() -> str:
    """The table for the README."""
    rows = []
    for row, entry in ROWS.items():
        names = " or ".join(f"`{name}`" for name in row.split(" or "))
        flags = " ".join(f"`{flag(name)}`" for name in sorted(entry.takes))
        extra = f"`[{entry.extra}]`" if entry.extra else ""
        rows.append([names, entry.about, flags, extra])
    return show.markdown_table(["system", "what it is", "its options", "extra"], rows, words=4)
