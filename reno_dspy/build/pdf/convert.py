"""PDF to markdown: through markitdown, with a PDF converter of ours that keeps columns apart.

A worker is a child process that answers one line per document; the parent kills it when a document
takes too long, and the child caps its own memory, so a hostile PDF costs one error and one restart.
Results are cached under the sha256 of the PDF.

    python -m reno_dspy.build.pdf.convert < paths.jsonl      # the worker; `Converter` starts it
"""

from __future__ import annotations

import atexit
import functools
import json
import resource
import select
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from reno_dspy.base.child_server import child_environment, python_module
from reno_dspy.base.errors import JobError
from reno_dspy.base.files import cache_dir, sha256_file, write_text
from reno_dspy.data.corpus import looks_like_pdf

if TYPE_CHECKING:
    from markitdown import MarkItDown

# Part of the cache key: raise it when the same PDF would give another text.
CONVERTER = "pypdfium2-2"


@dataclass(frozen=True)
class Document:
    """A converted PDF: its sha256 and its markdown, or the reason why there is none."""

    sha256: str
    markdown: str
    error: str | None = None


def markitdown() -> MarkItDown:
    """Markitdown with our PDF converter instead of its own, which interleaves two-column lists."""
    from markitdown import DocumentConverter, DocumentConverterResult, MarkItDown, StreamInfo

    from reno_dspy.build.pdf.text import text_of_pdf

    class PdfConverter(DocumentConverter):  # type: ignore[misc]
        """PDF text in reading order, through pypdfium2."""

        def accepts(self, file_stream: BinaryIO, stream_info: StreamInfo, **_: Any) -> bool:
            return bool(
                stream_info.extension == ".pdf" or stream_info.mimetype == "application/pdf"
            )

        def convert(
            self, file_stream: BinaryIO, stream_info: StreamInfo, **_: Any
        ) -> DocumentConverterResult:
            return DocumentConverterResult(markdown=text_of_pdf(file_stream))

    class Reader(MarkItDown):  # type: ignore[misc]
        """Takes our word for it that a file is a PDF.

        Its own guess asks a neural network, which takes half of the CPU time of a conversion.
        """

        def _get_stream_info_guesses(
            self, file_stream: BinaryIO, base_guess: StreamInfo
        ) -> list[StreamInfo]:
            return [base_guess]

    reader = Reader(enable_builtins=False, enable_plugins=False)
    reader.register_converter(PdfConverter(), priority=-1.0)
    return reader


class Converter:
    """Converts PDFs in a child process, each under a time and memory limit.

    `timeout_s` is wall-clock seconds, `memory_mb` the child's whole address space. Use it as a
    context manager: the child ends with it.
    """

    def __init__(
        self, timeout_s: float = 60.0, memory_mb: int = 2048, cache: Path | None = None
    ) -> None:
        self._timeout_s = timeout_s
        self._cache = (cache or cache_dir()) / "documents" / CONVERTER
        self._child = _Child(memory_mb)

    def __enter__(self) -> Converter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the child process; converting again starts another."""
        self._child.stop()

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
        failure = None if cached.exists() else self._child.ask(path, cached, self._timeout_s)
        if failure is not None:
            return Document(sha256, "", failure)
        # newline="" keeps the text as it was written; universal newlines would eat \r.
        with open(cached, encoding="utf-8", newline="") as file:
            return Document(sha256, file.read())


def convert_record(record: dict[str, Any], timeout_s: float, memory_mb: int) -> dict[str, Any]:
    """`{path}` -> `{sha256, markdown, error}`, with one converter for each process that calls it."""
    return asdict(_converter(timeout_s, memory_mb).convert(Path(record["path"])))


@functools.cache
def _converter(timeout_s: float, memory_mb: int) -> Converter:
    """This process's converter; its child ends when this process does."""
    converter = Converter(timeout_s, memory_mb)
    atexit.register(converter.close)
    return converter


class _Child:
    """The parent's end of a worker process; restarted after a crash or a timeout."""

    def __init__(self, memory_mb: int) -> None:
        self._memory_mb = memory_mb
        self._process: subprocess.Popen[str] | None = None

    def ask(self, pdf: Path, target: Path, timeout_s: float) -> str | None:
        """Have `pdf` converted into `target`; None, or why that failed."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps([str(pdf), str(target)]) + "\n")
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], timeout_s)
            answer = process.stdout.readline() if ready else ""
        except BrokenPipeError:
            ready, answer = [process.stdout], ""
        if answer:
            said: dict[str, str] = json.loads(answer)
            if "cache" in said:
                raise JobError(
                    f"Cannot keep the text of {pdf} in {target.parent} ({said['cache']}). Make room there, "
                    "or name another folder in RENO_CACHE; the same command then goes on."
                )
            return said.get("error")
        self.stop()
        if ready:
            return f"the converter crashed or passed its memory limit ({self._memory_mb} MB)"
        return f"not converted within {timeout_s:g} s"

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                python_module("reno_dspy.build.pdf.convert", str(self._memory_mb)),
                env=child_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            assert self._process.stdout is not None
            # The first line says that the imports are done, so that they do not count as conversion.
            if not self._process.stdout.readline():
                raise JobError(
                    "The PDF worker does not start; try `python -m reno_dspy.build.pdf.convert` by hand."
                )
        return self._process


def _work(requests: IO[str], answers: IO[str], memory_mb: int) -> None:
    """Convert what is asked for, one JSON line `[pdf, target]` each, until the input ends."""
    reader = markitdown()
    # What a library prints must not stand between the answers.
    sys.stdout = sys.stderr
    resource.setrlimit(resource.RLIMIT_AS, (memory_mb << 20, memory_mb << 20))
    print("ready", file=answers, flush=True)
    for request in requests:
        pdf, target = json.loads(request)
        print(json.dumps(_convert_one(reader, Path(pdf), Path(target))), file=answers, flush=True)


def _convert_one(reader: MarkItDown, pdf: Path, target: Path) -> dict[str, str]:
    """Write the text of `pdf` to `target`: nothing to say, or `error` (the PDF's), or `cache`."""
    from markitdown import StreamInfo

    try:
        with open(pdf, "rb") as file:
            info = StreamInfo(extension=".pdf", mimetype="application/pdf")
            markdown = reader.convert_stream(file, stream_info=info).markdown
    except MemoryError:
        return {"error": "needs more memory than its limit"}
    except Exception as error:  # whatever a damaged PDF makes the libraries raise is its error row
        return {"error": _plainly(error)}
    if not markdown.strip():
        return {"error": "no text in it (a scan without a text layer?)"}
    try:
        write_text(target, markdown)
    except OSError as error:
        return {"cache": error.strerror or str(error)}
    return {}


def _plainly(error: Exception) -> str:
    """Why a PDF cannot be read. markitdown wraps PDFium's reason in a report of its attempts."""
    text = " ".join(str(error).split())
    if "Incorrect password" in text:
        return "encrypted PDF (it needs a password)"
    reason = text.rpartition("PDFium: ")[2].rstrip(").") if "PDFium: " in text else text[:200]
    return f"damaged PDF ({reason})"


if __name__ == "__main__":
    _work(sys.stdin, sys.stdout, int(sys.argv[1]) if len(sys.argv) > 1 else 2048)
