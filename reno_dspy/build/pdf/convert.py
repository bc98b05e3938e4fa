"""PDF to markdown, one article at a time, each under limits; results are kept by the PDF's content."""

from __future__ import annotations

import atexit
import functools
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reno_dspy.base.errors import JobError
from reno_dspy.base.files import cache_dir, sha256_file
from reno_dspy.base.limited import MEMORY_MB, TIMEOUT_S, Limited, NotDone
from reno_dspy.data.corpus import looks_like_pdf

# Part of the cache key: raise it when the same PDF would give another text.
CONVERTER = "pypdfium2-3"


@dataclass(frozen=True)
class Document:
    """A converted PDF: its sha256 and its markdown, or the reason why there is none."""

    sha256: str
    markdown: str
    error: str | None = None


class Converter:
    """Converts PDFs in a child process, each within `timeout_s` seconds and `memory_mb` of memory.

    Use it as a context manager: the child ends with it.
    """

    def __init__(
        self,
        timeout_s: float = TIMEOUT_S,
        memory_mb: int = MEMORY_MB,
        cache: Path | None = None,
    ) -> None:
        self._timeout_s = timeout_s
        self._cache = (cache or cache_dir()) / "documents" / CONVERTER
        self._reader = Limited("reno_dspy.build.pdf.reader:convert", "converting", memory_mb)

    def __enter__(self) -> Converter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the child process; converting again starts another."""
        self._reader.close()

    def convert(self, path: Path) -> Document:
        """The text of the PDF `path`, or why there is none; nothing that is wrong with it raises.

        Raises JobError when the cache cannot be written, which is not the PDF's fault.
        """
        try:
            sha256 = sha256_file(path)
            if not looks_like_pdf(path):
                return Document(sha256, "", "not a PDF (no %PDF- at its start)")
        except OSError as error:
            return Document("", "", f"cannot read the file ({error.strerror})")
        cached = self._cache / sha256[:2] / f"{sha256}.md"
        try:
            failure = None if cached.exists() else self._read(path, cached)
            # Decoded from bytes, since universal newlines would eat \r.
            markdown = "" if failure else cached.read_bytes().decode("utf-8")
        except OSError as error:
            raise JobError(
                f"Cannot keep the text of {path} in {cached.parent} ({error.strerror}). Make room there, "
                "or name another folder in RENO_CACHE; the same command then goes on."
            ) from error
        return Document(sha256, markdown, failure)

    def _read(self, pdf: Path, target: Path) -> str | None:
        """Have `pdf` converted into `target`; None, or why that failed. Raises OSError."""
        try:
            found = self._reader.call(str(pdf), str(target), timeout_s=self._timeout_s)
        except NotDone as reason:
            return str(reason)
        if "cache" in found:
            raise OSError(0, found["cache"])
        error: str | None = found.get("error")
        return error


def convert_record(record: dict[str, Any], timeout_s: float, memory_mb: int) -> dict[str, Any]:
    """`{path}` -> `{sha256, markdown, error}`, with one converter for each process that calls it."""
    return asdict(_converter(timeout_s, memory_mb).convert(Path(record["path"])))


@functools.cache
def _converter(timeout_s: float, memory_mb: int) -> Converter:
    """This process's converter; its child ends when this process does."""
    converter = Converter(timeout_s, memory_mb)
    atexit.register(converter.close)
    return converter
