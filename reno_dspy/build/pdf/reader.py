"""PDF to markdown through markitdown, with our own PDF converter, which keeps columns apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

from markitdown import DocumentConverter, DocumentConverterResult, MarkItDown, StreamInfo

from reno_dspy.base.files import write_text
from reno_dspy.build.pdf.text import text_of_pdf

_PDF = StreamInfo(extension=".pdf", mimetype="application/pdf")


class _PdfConverter(DocumentConverter):  # type: ignore[misc]
    """PDF text in reading order, through pypdfium2."""

    def accepts(self, file_stream: BinaryIO, stream_info: StreamInfo, **_: Any) -> bool:
        return bool(stream_info.extension == ".pdf" or stream_info.mimetype == "application/pdf")

    def convert(
        self, file_stream: BinaryIO, stream_info: StreamInfo, **_: Any
    ) -> DocumentConverterResult:
        return DocumentConverterResult(markdown=text_of_pdf(file_stream))


class _Reader(MarkItDown):  # type: ignore[misc]
    """Takes our word for it that a file is a PDF.

    Its own guess asks a neural network, which takes half of the CPU time of a conversion.
    """

    def _get_stream_info_guesses(
        self, file_stream: BinaryIO, base_guess: StreamInfo
    ) -> list[StreamInfo]:
        return [base_guess]


def markitdown() -> MarkItDown:
    """Markitdown with our PDF converter instead of its own, which interleaves two-column lists."""
    reader = _Reader(enable_builtins=False, enable_plugins=False)
    reader.register_converter(_PdfConverter(), priority=-1.0)
    return reader


_READER = markitdown()


def convert(pdf: str, target: str) -> dict[str, str]:
    """Write the text of `pdf` to the file `target`, or the reason why it cannot be read.

    Returns `{}`, or the reason as `error` (the PDF's fault) or as `cache` (that of the target's disk).
    """
    try:
        with open(pdf, "rb") as file:
            markdown = _READER.convert_stream(file, stream_info=_PDF).markdown
    except MemoryError:
        return {"error": "needs more memory than its limit"}
    except Exception as error:  # whatever a damaged PDF makes the libraries raise is its error
        return {"error": _plainly(error)}
    if not markdown.strip():
        return {"error": "no text in it (a scan without a text layer?)"}
    try:
        write_text(Path(target), markdown)
    except OSError as error:
        return {"cache": error.strerror or str(error)}
    return {}


def _plainly(error: Exception) -> str:
    """Why a PDF cannot be read. Markitdown wraps PDFium's reason in a report of its attempts."""
    text = " ".join(str(error).split())
    if "Incorrect password" in text:
        return "encrypted PDF (it needs a password)"
    reason = text.rpartition("PDFium: ")[2].rstrip(").") if "PDFium: " in text else text[:200]
    return f"damaged PDF ({reason})"
