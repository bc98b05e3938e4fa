"""`reno annotate`: annotate your own references."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from reno_dspy.annotate.job import AnnotateConfig, annotate
from reno_dspy.annotate.review import review_file
from reno_dspy.base.errors import InputError
from reno_dspy.cli.options import job_options
from reno_dspy.cli.references import references_of
from reno_dspy.cli.systems import SystemCommand, open_system


@click.command("annotate", cls=SystemCommand)
@job_options(AnnotateConfig, argument="input", tracked=False)
def command(config: AnnotateConfig, *, fresh: bool) -> None:
    """Annotate the references of INPUT: one a line, or those of a PDF or a JATS article.

    INPUT may be - for standard input.

    Writes a JATS <ref-list> (valid, every reference in its own words), JSON lines (the system's answers
    as they came) or CSL-JSON. With --out, running the same command again resumes an unfinished job.

    With --review-below or --accept, references of which the system is less sure go to a second file,
    such as refs.review.xml beside refs.xml, the least sure first.
    """
    _check_outputs(config)
    with _file_for(config) as out:
        job = config.model_copy(update={"out": out})
        log = out.with_name(f"{out.name}.server.log")
        with (
            references_of(config.input, any_text=config.any_text) as (references, known),
            open_system(job, log) as system,
        ):
            done = annotate(job, system, references, total=known, fresh=fresh)
    where = "" if out != config.out else f": {out}"
    click.echo(f"Annotated {done.total - done.failed} of {done.total} references{where}", err=True)
    if done.threshold is not None:
        click.echo(
            f"{done.review} of less confidence than {done.threshold:.4f} to review: {review_file(out)}",
            err=True,
        )


def _check_outputs(config: AnnotateConfig) -> None:
    """Raise InputError when writing would overwrite the input."""
    apart = config.review_below is not None or config.accept is not None
    for out in (config.out, *([review_file(config.out)] if apart else [])):
        if Path(config.input).exists() and out.exists() and out.samefile(config.input):
            raise InputError(f"{out} is the input itself; name another --out.")


@contextmanager
def _file_for(config: AnnotateConfig) -> Iterator[Path]:
    """The file to write; for standard output, one whose content goes there at the end.

    A job that fails leaves that file's folder, with its answers and the log of its server.
    """
    if config.out != Path("-"):
        yield config.out
        return
    folder = Path(tempfile.mkdtemp(prefix="reno-annotate-"))
    yield folder / "references"
    with open(folder / "references", "rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.flush()
    shutil.rmtree(folder)
