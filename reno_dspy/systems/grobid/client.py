"""GROBID over its REST API, without consolidation: its models' answers, nothing looked up elsewhere.

    docker run --rm --init -p 127.0.0.1:8070:8070 grobid/grobid:0.9.1-crf
    reno evaluate --system grobid --data DATA

References go to `/api/processCitationList` in batches. A batch that gets no usable answer goes again one
by one to `/api/processCitation`, so that one hostile reference costs one error row.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Self

import httpx

from reno_dspy.base.errors import InputError
from reno_dspy.jats.citation import MalformedXml
from reno_dspy.jats.text import collapse
from reno_dspy.systems import Completion
from reno_dspy.systems.grobid.tei import citation, citations

if TYPE_CHECKING:
    from reno_dspy.systems.options import SystemOptions

# Server states that pass: all threads busy (503), a proxy's time-out or overload.
_TRANSIENT = frozenset({429, 502, 503, 504})
# References of a batch that may time out before the rest of it is given up: the server is stuck.
_SLOW = 2


class RequestFailed(Exception):
    """GROBID gave no usable answer to one request."""


class TimedOut(RequestFailed):
    """GROBID was still at work when the time was up."""


class Unreachable(RequestFailed):
    """No GROBID that answers, after all retries."""


class Grobid:
    """A GROBID server as a system.

    `retries` more tries follow an overloaded or unreachable server, after `wait_s`, then twice that, ...
    """

    name = "grobid"

    def __init__(
        self,
        url: str = "http://127.0.0.1:8070",
        *,
        batch_size: int = 16,
        concurrency: int = 4,
        timeout_s: float = 60.0,
        retries: int = 5,
        wait_s: float = 1.0,
    ) -> None:
        self.batch_size = batch_size
        self.concurrency = concurrency
        self._url = url.rstrip("/")
        self._timeout_s = timeout_s
        self._retries = retries
        self._wait_s = wait_s

    @classmethod
    def from_options(cls, options: SystemOptions, _log: Path) -> Self:
        """The server at `options.api_base`, or one on this machine."""
        return cls(options.api_base) if options.api_base else cls()

    @cached_property
    def _ssl(self) -> ssl.SSLContext:
        return httpx.create_ssl_context()

    def identity(self) -> Mapping[str, str]:
        """The server's version. Raises InputError when no GROBID answers there."""
        return {"model": f"grobid-{self._version}"}

    @cached_property
    def _version(self) -> str:
        try:
            answer = httpx.get(f"{self._url}/api/version", timeout=10, verify=self._ssl)
            answer.raise_for_status()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise InputError(
                f"No GROBID answers at {self._url} ({error}). Start one, for instance with\n"
                "  docker run --rm --init -p 127.0.0.1:8070:8070 grobid/grobid:0.9.1-crf\n"
                "or name its address."
            ) from error
        return collapse(answer.text)[:40]

    async def start(self) -> None:
        """Check that a GROBID answers. Raises InputError when none does."""
        await asyncio.to_thread(lambda: self._version)

    async def annotate(self, references: Sequence[str]) -> list[Completion]:
        """Annotate references; what GROBID cannot answer is an error row."""
        lines = [collapse(reference) for reference in references]
        async with httpx.AsyncClient(timeout=self._timeout_s, verify=self._ssl) as client:
            if len(lines) < 2:
                return await self._complete_each(client, lines)
            try:
                return await self._complete(client, lines)
            except Unreachable as failure:
                return [Completion("", error=str(failure)) for _ in lines]
            except (RequestFailed, MalformedXml, ValueError):
                # One reference can spoil the answer to all: alone, each has its own answer or error.
                return await self._complete_each(client, lines)

    async def _complete(
        self, client: httpx.AsyncClient, references: Sequence[str]
    ) -> list[Completion]:
        """All answers by one request. Raises RequestFailed, MalformedXml or ValueError."""
        start = perf_counter()
        if len(references) == 1:
            texts = [citation(await self._post(client, "processCitation", references))]
        else:
            texts = citations(await self._post(client, "processCitationList", references))
        if len(texts) != len(references):
            raise RequestFailed(f"{len(texts)} answers to {len(references)} references")
        latency = (perf_counter() - start) / len(references)
        return [Completion(text, latency_s=latency) for text in texts]

    async def _complete_each(
        self, client: httpx.AsyncClient, references: Sequence[str]
    ) -> list[Completion]:
        """An answer or an error for each reference, until the server proves to be stuck or gone."""
        completions: list[Completion] = []
        slow, gone = 0, None
        for reference in references:
            if gone:
                completions.append(Completion("", error=gone))
                continue
            start = perf_counter()
            try:
                completions += await self._complete(client, [reference])
            except RequestFailed as failure:
                error = str(failure)
                slow += isinstance(failure, TimedOut)
                gone = error if isinstance(failure, Unreachable) or slow == _SLOW else None
            except (MalformedXml, ValueError) as problem:
                error = f"GROBID's answer is not TEI: {problem}"
            else:
                continue
            completions.append(Completion("", error=error, latency_s=perf_counter() - start))
        return completions

    async def _post(
        self, client: httpx.AsyncClient, service: str, references: Sequence[str]
    ) -> str:
        """The TEI that a service answers, "" for "nothing found".

        Raises TimedOut, Unreachable, or RequestFailed for any other answer that is no success.
        """
        form = {"citations": list(references), "consolidateCitations": "0"}
        headers = {"Accept": "application/xml"}
        problem = ""
        for attempt in range(self._retries + 1):
            if attempt:
                await asyncio.sleep(self._wait_s * 2 ** (attempt - 1))
            try:
                answer = await client.post(f"{self._url}/api/{service}", data=form, headers=headers)
            except httpx.ReadTimeout:
                raise TimedOut(f"GROBID, {service}: no answer in {self._timeout_s:g} s") from None
            except httpx.TransportError as error:
                problem = f"{type(error).__name__} {error}".strip()
                continue
            except httpx.HTTPError as error:  # an answer that cannot be decoded
                raise RequestFailed(f"GROBID, {service}: {type(error).__name__} {error}") from None
            if answer.status_code == 204:
                return ""
            if answer.is_success:
                return answer.text
            problem = f"HTTP {answer.status_code} {answer.text[:200]}".strip()
            if answer.status_code not in _TRANSIENT:
                raise RequestFailed(f"GROBID, {service}: {problem}")
        raise Unreachable(f"GROBID, {service}: {problem}")
