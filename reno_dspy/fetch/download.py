"""A polite downloader: one request at a time to a host, robots.txt, retries, resume, content checks.

A file is kept only when it is whole and what it should be. What a server does wrong is an `Outcome` with an
error, never an exception: a platform of 100,000 articles has some of everything.
"""

from __future__ import annotations

import email.utils
import os
import time
import urllib.robotparser
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from reno_dspy import __version__
from reno_dspy.base.files import sha256_file
from reno_dspy.data.corpus import looks_like_pdf

Check = Callable[[Path], bool]
# Marks a request for robots.txt.
_ROBOTS = "reno_robots"
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Manners:
    """How the downloader behaves.

    `interval_s` between two requests to one host; `retries` after the first try, waiting `backoff_s`,
    then twice that, and so on, or as long as the server asks up to `patience_s`; `deadline_s` for one try
    of one file, however slowly it drips; `max_bytes` of a file.
    """

    contact: str
    interval_s: float = 1.0
    retries: int = 4
    backoff_s: float = 2.0
    patience_s: float = 300.0
    deadline_s: float = 300.0
    max_bytes: int = 512 * 2**20

    @property
    def user_agent(self) -> str:
        """Who asks, and whom to write to when that is a nuisance."""
        return f"reno-dspy/{__version__} (mailto:{self.contact})"


@dataclass(frozen=True)
class Outcome:
    """A downloaded file's sha256, or why there is none."""

    sha256: str | None
    error: str | None = None


class _TryAgain(Exception):
    """This try failed in a way that may pass; `wait_s` is what the server asked for, if it did."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class _GiveUp(Exception):
    """This will not get better."""


@dataclass
class Downloader:
    """Downloads files to where they belong. Use it as a context manager."""

    manners: Manners
    _last: dict[str, float] = field(default_factory=dict)
    _robots: dict[str, urllib.robotparser.RobotFileParser] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._client = httpx.Client(
            # Not compressed, since a partial file is continued at its own length.
            headers={"User-Agent": self.manners.user_agent, "Accept-Encoding": "identity"},
            follow_redirects=True,
            max_redirects=10,
            timeout=httpx.Timeout(30.0),
            # Called for every request, those that a redirect leads to as well.
            event_hooks={"request": [self._before]},
        )

    def __enter__(self) -> Downloader:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def fetch(self, url: str, target: Path, check: Check) -> Outcome:
        """Download `url` to `target` unless it is there already; `check` says whether it is right.

        A partial download is kept as `NAME.part` and continued, if the server can.
        """
        if target.exists() and check(target):
            return Outcome(sha256_file(target))
        if not _is_address(url):
            return Outcome(None, "not an address that can be fetched")
        target.parent.mkdir(parents=True, exist_ok=True)
        reason = ""
        for attempt in range(self.manners.retries + 1):
            try:
                self._try(url, target)
                return self._checked(target, check)
            except _GiveUp as failure:
                return Outcome(None, str(failure))
            except _TryAgain as failure:
                reason = str(failure)
                if attempt < self.manners.retries:
                    self._wait(attempt, failure.wait_s)
            except httpx.TooManyRedirects:
                return Outcome(None, "redirected in a circle")
            except httpx.HTTPError as failure:
                reason = f"connection failed ({type(failure).__name__})"
                if attempt < self.manners.retries:
                    self._wait(attempt, None)
        return Outcome(None, f"{reason}; tried {self.manners.retries + 1} times")

    def _try(self, url: str, target: Path) -> None:
        part, tag = (target.with_name(f"{target.name}.{end}") for end in ("part", "etag"))
        have = part.stat().st_size if part.exists() else 0
        headers = {"Range": f"bytes={have}-"} if have else {}
        if have and tag.exists():
            # A file that changed since then is sent whole.
            headers["If-Range"] = tag.read_text(encoding="ascii")
        with self._client.stream("GET", url, headers=headers) as response:
            self._check_status(response)
            if response.status_code == 416:
                part.unlink()
                raise _TryAgain("the server has no such part")
            _remember_etag(response, tag)
            self._receive(response, part, have if response.status_code == 206 else 0)
        os.replace(part, target)
        tag.unlink(missing_ok=True)

    def _check_status(self, response: httpx.Response) -> None:
        status = response.status_code
        if status in _RETRIED:
            raise _TryAgain(f"HTTP {status}", _retry_after(response))
        if status >= 400 and status != 416:
            raise _GiveUp(f"HTTP {status}")

    def _receive(self, response: httpx.Response, part: Path, have: int) -> None:
        ends_at = time.monotonic() + self.manners.deadline_s
        with open(part, "ab" if have else "wb") as file:
            for chunk in response.iter_bytes():
                file.write(chunk)
                have += len(chunk)
                if have > self.manners.max_bytes:
                    raise _GiveUp(f"larger than {self.manners.max_bytes:,} bytes")
                if time.monotonic() > ends_at:
                    raise _TryAgain(f"not whole within {self.manners.deadline_s:g} s")

    def _checked(self, target: Path, check: Check) -> Outcome:
        if check(target):
            return Outcome(sha256_file(target))
        target.unlink()
        return Outcome(None, "not what it should be (a web page in place of the file?)")

    def _wait(self, attempt: int, asked_s: float | None) -> None:
        own_s = self.manners.backoff_s * 2**attempt
        time.sleep(min(max(asked_s or 0.0, own_s), self.manners.patience_s))

    def _before(self, request: httpx.Request) -> None:
        """Ask robots.txt and wait for the host's turn, before each request."""
        url = str(request.url)
        # robots.txt itself may be asked for, wherever a redirect leads.
        if not request.extensions.get(_ROBOTS) and not self._allowed(url):
            raise _GiveUp("robots.txt of the host forbids it")
        self._take_turn(url)

    def _take_turn(self, url: str) -> None:
        host = urlsplit(url).netloc
        ready_at = self._last.get(host, 0.0) + self.manners.interval_s
        time.sleep(max(0.0, ready_at - time.monotonic()))
        self._last[host] = time.monotonic()

    def _allowed(self, url: str) -> bool:
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in self._robots:
            self._robots[origin] = self._read_robots(origin)
        return self._robots[origin].can_fetch("reno-dspy", url)

    def _read_robots(self, origin: str) -> urllib.robotparser.RobotFileParser:
        """The host's rules (RFC 9309): all is allowed where there is no such file (2.3.1.3).

        Nothing is where the file cannot be had (2.3.1.4), until it can: raises _TryAgain, or httpx's error
        where the host does not answer.
        """
        rules = urllib.robotparser.RobotFileParser()
        try:
            response = self._client.get(f"{origin}/robots.txt", extensions={_ROBOTS: True})
        except httpx.TooManyRedirects:
            rules.parse([])
            return rules
        if response.status_code >= 500 or response.status_code == 429:
            reason = f"robots.txt cannot be read (HTTP {response.status_code})"
            raise _TryAgain(reason, _retry_after(response))
        rules.parse(response.text.splitlines() if response.status_code == 200 else [])
        return rules


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def is_pdf(path: Path) -> bool:
    """Whether a downloaded file is a PDF, whatever the server called it."""
    return path.stat().st_size > 0 and looks_like_pdf(path)


def is_xml(path: Path) -> bool:
    """Whether a downloaded file starts as XML does, and not as a web page."""
    with open(path, "rb") as file:
        head = file.read(1024).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return head.startswith(b"<") and not head.startswith((b"<!doctype html", b"<html"))


def is_any(path: Path) -> bool:
    """Whether there is something in it."""
    return path.stat().st_size > 0


def _remember_etag(response: httpx.Response, tag: Path) -> None:
    """Keep a strong validator (RFC 9110, 8.8.3) beside the partial file."""
    value = response.headers.get("ETag", "")
    if value.startswith('"') and value.isascii():
        tag.write_text(value, encoding="ascii")
    else:
        tag.unlink(missing_ok=True)


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds of a Retry-After header, in either of its forms (RFC 9110, 10.2.3)."""
    value = response.headers.get("Retry-After", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
