"""The references of PDFs that are sent: read in child processes under limits, and kept nowhere."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cached_property
from pathlib import Path

from fastapi import HTTPException

from reno_dspy.base.limited import MEMORY_MB, NotDone
from reno_dspy.build.pdf.convert import Converter
from reno_dspy.build.references.finder import Finder
from reno_dspy.data.corpus import looks_like_pdf
from reno_dspy.service.limits import Limits


class PdfReader:
    """Reads PDFs one after another; `Limits.pdfs` may wait for that.

    A PDF and its text lie in temporary files until it is read.
    """

    def __init__(self, limits: Limits, memory_mb: int = MEMORY_MB) -> None:
        self._limits, self._memory_mb = limits, memory_mb
        self._finder = Finder(limits.seconds, memory_mb)
        self._turn = asyncio.Lock()
        self._count = 0

    @cached_property
    def _folder(self) -> Path:
        return Path(tempfile.mkdtemp(prefix="reno-serve-"))

    @cached_property
    def _converter(self) -> Converter:
        # What it keeps is removed after each PDF.
        return Converter(self._limits.seconds, self._memory_mb, self._folder / "text")

    def close(self) -> None:
        """End the child processes and remove what is left of a PDF."""
        self._finder.close()
        if "_converter" in vars(self):
            self._converter.close()
        if "_folder" in vars(self):
            shutil.rmtree(self._folder, ignore_errors=True)

    async def references(self, pdf: AsyncIterable[bytes]) -> list[str]:
        """The reference list of a PDF as it is printed; empty where none is found.

        Raises HTTPException 422 when it cannot be read, 503 when too many wait.
        """
        with self._place(), tempfile.NamedTemporaryFile(dir=self._folder, suffix=".pdf") as file:
            async for chunk in pdf:
                await asyncio.to_thread(file.write, chunk)
            file.flush()
            async with self._reading():
                reading = asyncio.create_task(asyncio.to_thread(self._read, Path(file.name)))
                # The thread cannot be stopped, so that the next PDF must wait for its end.
                try:
                    return await asyncio.shield(reading)
                except asyncio.CancelledError:
                    await asyncio.wait([reading])
                    raise

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[None]:
        """This PDF's turn. Raises HTTPException when it does not come in time."""
        try:
            await asyncio.wait_for(self._turn.acquire(), self._limits.seconds)
        except TimeoutError:
            raise self._busy() from None
        try:
            yield
        finally:
            self._turn.release()

    def _busy(self) -> HTTPException:
        sentence = "Too many PDFs wait to be read. Try again soon."
        return HTTPException(503, sentence, {"Retry-After": "10"})

    @contextmanager
    def _place(self) -> Iterator[None]:
        if self._count >= self._limits.pdfs:
            raise self._busy()
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1

    def _read(self, path: Path) -> list[str]:
        if not looks_like_pdf(path):
            raise HTTPException(422, "The file is not a PDF.")
        try:
            document = self._converter.convert(path)
            if document.error is not None:
                raise HTTPException(422, f"The PDF cannot be read: {document.error}.")
            found = self._finder.find_list(document.markdown)
        except NotDone as reason:
            raise HTTPException(422, f"No reference list was found in the PDF: {reason}.") from None
        finally:
            shutil.rmtree(self._folder / "text", ignore_errors=True)
        return [reference.printed for reference in found]
