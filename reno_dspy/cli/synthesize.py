"""`reno synthesize`: training rows rendered from metadata in citation styles."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from reno_dspy.base.errors import InputError
from reno_dspy.cli.options import job_options
from reno_dspy.synthesize.config import SynthesizeConfig


def _lists(job: Callable[..., None]) -> Callable[..., None]:
    """Give the options that take several values as `--set` would."""

    @functools.wraps(job)
    def command(
        *,
        metadata: tuple[str, ...],
        exclude: tuple[str, ...],
        add: tuple[str, ...],
        licence: tuple[str, ...],
        **options: Any,
    ) -> None:
        if not (metadata or options["config"] or options["sets"]):
            raise InputError(
                "Name at least one file of metadata: reno synthesize library.json --out DIR."
            )
        many = {"metadata": metadata, "exclude": exclude, "add": add, "licences": licence}
        job(**{name: values or None for name, values in many.items()}, **options)

    return command


@click.command("synthesize")
@click.argument("metadata", nargs=-1)
@click.option(
    "--exclude", multiple=True, metavar="DATA[:SPLIT]", help="Leave out works cited there."
)
@click.option("--add", multiple=True, metavar="DATA", help="Put the real rows of DATA beside them.")
@click.option("--licence", multiple=True, help="Licence that metadata must have.  [default: any]")
@_lists
@job_options(SynthesizeConfig)
def command(config: SynthesizeConfig, *, fresh: bool, tracking: bool) -> None:
    """Render METADATA in citation styles, as rows to train on.

    METADATA are files of CSL-JSON (.json as Zotero exports it, .jsonl, .jsonl.gz) or BibTeX (.bib), and
    data sets, whose annotations are read as metadata. --out is a data set with train, dev and test, each
    work in one of them. Needs Node.js with its package citeproc, and `pip install 'reno-dspy[synth]'`.
    """
    from reno_dspy.cli.tracking import open_tracker
    from reno_dspy.synthesize.job import synthesize

    made = synthesize(config, open_tracker(tracking), fresh=fresh)
    click.echo(
        f"{made.path}: {', '.join(f'{name} {n:,}' for name, n in made.rows.items())}; "
        f"{sum(made.dropped.values()):,} dropped; digest {made.digest}"
    )
    if not made.complete:
        click.echo(
            f"Fewer than --n {config.n:,}: the metadata and styles give no more references that differ.",
            err=True,
        )
