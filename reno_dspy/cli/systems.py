"""Which system a name means. Only the command line knows them all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from reno_dspy.base.errors import InputError
from reno_dspy.cli.prompts import local_prompt
from reno_dspy.systems import System
from reno_dspy.systems.options import SystemOptions

PARSERS = ("tagger", "crf", "grobid", "anystyle")
CRF_MODEL = ".crfsuite"


@contextmanager
def open_system(options: SystemOptions, log: Path) -> Iterator[System]:
    """Open the system that `options` name; a server that it needs logs to `log` and ends with it.

    `embedded` (the small model with the adapter that ships), `smollm2-135m` (the same, bare), `tagger`,
    `crf`, `grobid` and `anystyle` are built in, FILE.crfsuite is a model of `reno train-crf`; any other
    name is an LM recipe.
    Raises InputError for an unknown name, or an option that the system has no use for.
    """
    if options.system in ("embedded", "smollm2-135m"):
        with _embedded(options, log) as system:
            yield system
        return
    if options.adapter is not None and options.system != "tagger":
        raise InputError(
            "--adapter goes with --system embedded or tagger; a recipe names its own adapter."
        )
    if options.system in PARSERS or options.system.endswith(CRF_MODEL):
        if options.prompt is not None or options.max_tokens is not None:
            raise InputError(
                f"--prompt and --max-tokens are for language models, not {options.system}."
            )
        if options.constrain != "none":
            raise InputError(
                f"--constrain is for language models behind vLLM, not {options.system}, whose answers "
                "are valid and keep the reference's text by themselves."
            )
        yield _parser(options)
    else:
        yield _language_model(options)


def _parser(options: SystemOptions) -> System:
    if options.system == "tagger":
        from finetune.tagger.system import SHIPPED as SHIPPED_TAGGER
        from finetune.tagger.system import Tagger

        return Tagger(options.adapter or SHIPPED_TAGGER)
    if options.system == "crf" or options.system.endswith(CRF_MODEL):
        from reno_dspy.systems.crf.model import SHIPPED, Crf

        return Crf(SHIPPED if options.system == "crf" else Path(options.system))
    if options.system == "grobid":
        from reno_dspy.systems.grobid.client import Grobid

        return Grobid(options.api_base) if options.api_base else Grobid()
    from reno_dspy.systems.anystyle import AnyStyle

    return AnyStyle()


def _language_model(options: SystemOptions) -> System:
    from programs.annotate import load_system

    with local_prompt(options.prompt) as prompt:
        return load_system(
            options.system,
            prompt=prompt,
            api_base=options.api_base,
            max_tokens=options.max_tokens,
            constrain=options.constrain,
        )


@contextmanager
def _embedded(options: SystemOptions, log: Path) -> Iterator[System]:
    from finetune.serving.embedded import EmbeddedSystem, shipped_adapter

    if options.api_base is not None:
        raise InputError(f"{options.system} starts its own server; for another, name a recipe.")
    if options.constrain != "none":
        raise InputError(
            f"--constrain needs vLLM; {options.system} starts a server that knows no grammars. Run "
            "`reno serve smollm2-135m --vllm-python PYTHON` (with --adapter for one) and give "
            "--system the recipe that it prints."
        )
    bare = options.system != "embedded"
    if bare and options.adapter is not None:
        raise InputError(f"{options.system} is the bare model; --adapter goes with embedded.")
    adapter = options.adapter or (None if bare else shipped_adapter())
    if adapter is None and not bare:
        click.echo(
            "No adapter ships yet: the bare model answers. Name one with --adapter.", err=True
        )
    with local_prompt(options.prompt) as prompt:
        system = EmbeddedSystem(adapter, prompt, options.max_tokens, log)
    try:
        yield system
    finally:
        system.close()
