"""The references of an input, whatever kind of file it is: lines of text, a PDF, a JATS article.

The kind is told by the first bytes, not by the name, so that standard input works as a file does.
"""

from __future__ import annotations

import io
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from reno_dspy.annotate.job import read_references
from reno_dspy.base.errors import InputError
from reno_dspy.base.limited import NotDone
from reno_dspy.data.corpus import is_pdf

_JATS = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:\?xml\s|!DOCTYPE\s|(?:\w+:)?article[\s>])")
_HEAD = 1024
# Of so many lines at the beginning, this share of references has a year at least; prose and addresses have
# fewer. A short text is left to the reader.
_SAMPLE, _FEW, _WITH_YEAR = 1_000, 50, 0.2
_FOUR_DIGITS = re.compile(r"(?<!\d)\d{4}(?!\d)|年")


@contextmanager
def references_of(
    name: str, *, any_text: bool = False
) -> Iterator[tuple[Iterable[str], int | None]]:
    """The references of the file `name` (`-`: standard input), and their number if known beforehand.

    Raises InputError for what cannot be read, for an input without references, and, unless `any_text`, for
    lines of which few have a year.
    """
    if name == "-":
        # Only a buffered reader lets its first bytes be looked at.
        stdin: Any = sys.stdin.buffer
        file = stdin if isinstance(stdin, io.BufferedReader) else io.BufferedReader(stdin)
        yield _read(file, "Standard input", any_text)
        return
    path = Path(name)
    if not path.exists() or path.is_dir():
        what = "is a directory" if path.is_dir() else "does not exist"
        raise InputError(
            f"{name} {what}. Name a text file, a PDF, a JATS article, or - for standard input."
        )
    with open(path, "rb") as file:
        yield _read(file, name, any_text)


def _read(file: io.BufferedReader, name: str, any_text: bool) -> tuple[Iterable[str], int | None]:
    head = file.peek(_HEAD)
    if is_pdf(head) or name.lower().endswith(".pdf"):
        with _on_disk(file, ".pdf") as path:
            found = _from_pdf(path, name)
        return found, len(found)
    if _JATS.match(head):
        with _on_disk(file, ".xml") as path:
            found = _from_jats(path, name)
        return found, len(found)
    if b"\0" in head:
        raise InputError(f"{name} is neither UTF-8 text nor a PDF. Save it as UTF-8 text.")
    references, total = _from_text(file, head, name)
    return references if any_text else _checked(references, name), total


@contextmanager
def _on_disk(file: IO[bytes], suffix: str) -> Iterator[Path]:
    """The content of `file` as a file with a name: `file` itself, or a copy of what a pipe gives."""
    name = getattr(file, "name", None)
    if isinstance(name, str) and Path(name).is_file():
        yield Path(name)
        return
    with tempfile.NamedTemporaryFile(suffix=suffix) as copy:
        shutil.copyfileobj(file, copy)
        copy.flush()
        yield Path(copy.name)


def _from_text(file: io.BufferedReader, head: bytes, name: str) -> tuple[Iterable[str], int | None]:
    end = "\r" if b"\r" in head and b"\n" not in head else "\n"
    total = None
    if file.seekable():
        total = sum(1 for _ in read_references(_lines(file, end)))
        file.seek(0)
    return _at_least_one(read_references(_lines(file, end)), name), total


def _lines(file: IO[bytes], end: str) -> Iterator[str]:
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


def _checked(references: Iterable[str], name: str) -> Iterator[str]:
    """`references`, once the first of them look like such: somebody may have named the wrong file."""
    rest = iter(references)
    first = list(islice(rest, _SAMPLE))
    with_year = sum(map(_has_year, first))
    if len(first) >= _FEW and with_year < _WITH_YEAR * len(first):
        raise InputError(
            f"{name} does not look like references, one a line: of its first {len(first):,} lines, "
            f"{with_year} have a year. Give an article as a PDF or as JATS, or annotate every line with "
            "--any-text."
        )
    return chain(first, rest)


def _has_year(line: str) -> bool:
    """Whether a line has a number that may be a year, in any script's digits and calendar."""
    found = _FOUR_DIGITS.findall(line)
    return any(not one.isascii() or 1400 <= int(one) < 2100 for one in found)


def _from_pdf(path: Path, name: str) -> list[str]:
    from reno_dspy.build.pdf.convert import Converter
    from reno_dspy.build.references.finder import Finder

    with Converter() as converter, Finder() as finder:
        document = converter.convert(path)
        if document.error is not None:
            raise InputError(f"{name} cannot be converted: {document.error}.")
        try:
            references = finder.find_list(document.markdown)
        except NotDone as reason:
            raise InputError(f"No reference list was found in {name}: {reason}.") from None
    if not references:
        raise InputError(f"No reference list was found in {name}.")
    return [reference.printed for reference in references]


def _from_jats(path: Path, name: str) -> list[str]:
    """What a JATS article prints as its references."""
    from reno_dspy.jats.article import read_article

    references = read_article(path).references
    printed = [r.text for r in references if r.kind == "mixed" and r.text]
    if not printed:
        raise InputError(
            f"{name} is a JATS article with {len(references)} references and the printed text of none: "
            "they have element-citation only, which is annotated already."
        )
    return printed
