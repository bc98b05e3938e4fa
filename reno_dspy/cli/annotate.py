"""`reno annotate`: annotate your own references."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from reno_dspy.annotate import AnnotateConfig, annotate, read_references
from reno_dspy.cli.options import job_options
from reno_dspy.errors import InputError


@click.command("annotate")
@job_options(AnnotateConfig, argument="input", tracked=False)
def command(config: AnnotateConfig, *, fresh: bool) -> None:
    """Annotate the references of INPUT, one a line (- is standard input), or those of a PDF.

    Writes a JATS <ref-list>, JSON lines or CSL-JSON to --out. The same command resumes.
    """
    from reno_dspy.cli.systems import open_system

    if fresh:
        config.out.with_name(f"{config.out.name}.partial").unlink(missing_ok=True)
    log = config.out.with_name(f"{config.out.name}.server.log")
    if Path(config.input).exists() and config.out.exists() and config.out.samefile(config.input):
        raise InputError(f"--out {config.out} is the input itself; name another file.")
    with _references(config.input) as references, open_system(config, log) as system:
        total, failed = annotate(config, system, references)
    click.echo(f"{total} references to {config.out}, {failed} of them not annotated.", err=True)


@contextmanager
def _references(name: str) -> Iterator[Iterator[str]]:
    if name == "-":
        yield read_references(sys.stdin)
        return
    path = Path(name)
    if not path.is_file():
        raise InputError(
            f"{name} does not exist. Name a text file, a PDF, or - for standard input."
        )
    with open(path, "rb") as file:
        is_pdf = file.read(5) == b"%PDF-"
    if is_pdf or path.suffix.lower() == ".pdf":
        yield iter(_from_pdf(path))
        return
    with open(path, encoding="utf-8", errors="replace") as lines:
        yield read_references(lines)


def _from_pdf(path: Path) -> list[str]:
    from reno_dspy.documents import Converter
    from reno_dspy.extraction import extract

    with Converter(workers=1) as converter:
        (document,) = converter.convert([path])
    if document.error is not None:
        raise InputError(f"{path} cannot be converted: {document.error}.")
    references = extract(document.markdown)
    if not references:
        raise InputError(f"No reference list was found in {path}.")
    return references
