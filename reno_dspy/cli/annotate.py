"""`reno annotate`: annotate your own references."""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO

import click

from reno_dspy.annotating.job import AnnotateConfig, annotate, read_references
from reno_dspy.base.errors import InputError
from reno_dspy.cli.options import job_options
from reno_dspy.cli.systems import SystemCommand, open_system


@click.command("annotate", cls=SystemCommand)
@job_options(AnnotateConfig, argument="input", tracked=False)
def command(config: AnnotateConfig, *, fresh: bool) -> None:
    """Annotate the references of INPUT, one a line (- is standard input), or those of a PDF.

    Writes a JATS <ref-list> (valid, every reference in its own words), JSON lines (the system's answers
    as they came) or CSL-JSON. With --out, running the same command again resumes an unfinished job.
    """
    if Path(config.input).exists() and config.out.exists() and config.out.samefile(config.input):
        raise InputError(f"--out {config.out} is the input itself; name another file.")
    with _file_for(config) as out:
        job = config.model_copy(update={"out": out})
        log = out.with_name(f"{out.name}.server.log")
        with _references(config.input) as (references, known), open_system(job, log) as system:
            total, failed = annotate(job, system, references, total=known, fresh=fresh)
    where = "" if out != config.out else f": {out}"
    click.echo(f"Annotated {total - failed} of {total} references{where}", err=True)


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


@contextmanager
def _references(name: str) -> Iterator[tuple[Iterable[str], int | None]]:
    """The references of an input, and how many there are where that is known beforehand."""
    if name == "-":
        yield _at_least_one(read_references(_lines(sys.stdin.buffer)), "Standard input"), None
        return
    path = Path(name)
    if not path.exists() or path.is_dir():
        what = "is a directory" if path.is_dir() else "does not exist"
        raise InputError(f"{name} {what}. Name a text file, a PDF, or - for standard input.")
    with open(path, "rb") as file:
        head = file.peek()
        if head.startswith(b"%PDF-") or path.suffix.lower() == ".pdf":
            references = _from_pdf(path)
            yield references, len(references)
            return
        if b"\0" in head:
            raise InputError(f"{name} is neither UTF-8 text nor a PDF. Save it as UTF-8 text.")
        end = "\r" if b"\r" in head and b"\n" not in head else "\n"
        total = None
        if file.seekable():
            total = sum(1 for _ in read_references(_lines(file, end)))
            file.seek(0)
        yield _at_least_one(read_references(_lines(file, end)), name), total


def _lines(file: IO[bytes], end: str = "\n") -> Iterator[str]:
    """The lines of a text in UTF-8. Nothing but `end` ends one: other white space may be inside.

    Bytes that are not UTF-8 become lone surrogates, so that their reference becomes an error row.
    """
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline=end)
    yield from text
    text.detach()


def _at_least_one(references: Iterator[str], name: str) -> Iterator[str]:
    first = next(references, None)
    if first is None:
        raise InputError(f"{name} holds no references (one a line).")
    return chain([first], references)


def _from_pdf(path: Path) -> list[str]:
    from reno_dspy.build.pdf.convert import Converter
    from reno_dspy.build.references.find import find_list

    with Converter() as converter:
        document = converter.convert(path)
    if document.error is not None:
        raise InputError(f"{path} cannot be converted: {document.error}.")
    references = find_list(document.markdown)
    if not references:
        raise InputError(f"No reference list was found in {path}.")
    return [reference.printed for reference in references]
