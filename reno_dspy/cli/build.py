"""`reno build`: a data set from PDF + JATS pairs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reno_dspy.base.errors import InputError
from reno_dspy.build.config import BuildConfig
from reno_dspy.cli.options import job_options

if TYPE_CHECKING:
    from reno_dspy.build.job import Built
    from reno_dspy.build.steps import Describer, Extractor


def _path_as_corpus(job: Callable[..., None]) -> Callable[..., None]:
    """Let the corpus be named without `--corpus`, too."""

    @functools.wraps(job)
    def command(*, path: Path | None, corpus: Path | None, **options: Any) -> None:
        if path and corpus:
            raise InputError(f"Two corpora are given, {path} and --corpus {corpus}; give one.")
        job(corpus=corpus or path, **options)

    return command


@click.command("build")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@_path_as_corpus
@job_options(BuildConfig)
def command(config: BuildConfig, *, fresh: bool, tracking: bool) -> None:
    """Build a data set: convert, extract, match, filter, describe, sample, split.

    PATH is the corpus (as --corpus): a manifest, or a folder of NAME.pdf + NAME.xml.
    The output directory is the data set (`--data OUT` of the other commands); the rows of every
    stage, with the reason of everything dropped, are in OUT/stages.
    """
    from reno_dspy.build.job import build
    from reno_dspy.cli.tracking import open_tracker

    built = build(
        config,
        open_tracker(tracking),
        extractor=_extractor(config.extractor),
        describer=_describer(config.describer),
        fresh=fresh,
    )
    _show(built)


def _extractor(name: str) -> Extractor | None:
    if name == "rules":
        return None
    from programs.extract import load_extractor

    return load_extractor(name)


def _describer(name: str) -> Describer | None:
    if name == "rules":
        return None
    from programs.describe import load_describer

    return load_describer(name)


def _show(built: Built) -> None:
    from rich.table import Table
    from rich.text import Text

    from reno_dspy.base.show import console
    from reno_dspy.build.card import stage_lines

    table = Table(title="Build")
    for column in ("stage", "in", "out", "dropped", "why"):
        number = column in ("in", "out", "dropped")
        table.add_column(column, justify="right" if number else "left", overflow="fold")
    for line in stage_lines(built.stages):
        table.add_row(*map(Text, line))
    out = console()
    out.print(table)
    for warning in built.warnings:
        out.print(f"Note: {warning}", highlight=False, markup=False)
    rows = ", ".join(f"{name} {count}" for name, count in built.rows.items())
    out.print(f"{built.path}: {rows}; digest {built.digest}", highlight=False, markup=False)
