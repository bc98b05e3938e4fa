"""Fetching from a server that misbehaves, on loopback; never from outside."""

import random
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from reno_dspy.base.errors import InputError, JobError
from reno_dspy.base.tracker import NullTracker
from reno_dspy.cli.main import group
from reno_dspy.data.corpus import read_corpus
from reno_dspy.fetch.config import FetchConfig
from reno_dspy.fetch.download import Downloader, Manners, Outcome, is_any, is_pdf, is_xml
from reno_dspy.fetch.job import fetch
from reno_dspy.fetch.platforms import _addresses, _Ids, _unpack_all

PDF = b"%PDF-1.4\n" + b"0123456789" * 2000
XML = b'<?xml version="1.0"?><article><front><article-meta/></front></article>'
Handler = BaseHTTPRequestHandler
Answer = Callable[[Handler, int], None]


@dataclass
class Server:
    """A site whose pages are functions of (request, how many came before)."""

    url: str
    pages: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    ranges: list[str | None] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)


def whole(body: bytes, kind: str = "application/pdf") -> Answer:
    def answer(handler: Handler, before: int) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def status(code: int, **headers: str) -> Answer:
    def answer(handler: Handler, before: int) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def first(times: int, bad: Answer, good: Answer) -> Answer:
    return lambda handler, before: (bad if before < times else good)(handler, before)


def truncated(handler: Handler, before: int) -> None:
    """Promises all, sends half; what is asked for by range it sends to the end."""
    start = int((handler.headers["Range"] or "bytes=0-")[6:-1])
    handler.send_response(206 if start else 200)
    handler.send_header("Content-Length", str(len(PDF) - start))
    handler.end_headers()
    handler.wfile.write(PDF[start:] if start else PDF[: len(PDF) // 2])
    handler.close_connection = True


def dripping(handler: Handler, before: int) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(PDF)))
    handler.end_headers()
    try:
        for start in range(0, len(PDF), 500):
            handler.wfile.write(PDF[start : start + 500])
            handler.wfile.flush()
            time.sleep(0.05)
    except OSError:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    site = Server("")

    class OurHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            before = site.asked.count(self.path)
            site.asked.append(self.path)
            site.ranges.append(self.headers["Range"])
            site.agents.add(self.headers["User-Agent"])
            site.pages.get(self.path, status(404))(self, before)

        def log_message(self, *_: object) -> None: ...

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), OurHandler)
    site.url = f"http://127.0.0.1:{httpd.server_port}"
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
    thread.start()
    yield site
    httpd.shutdown()
    httpd.server_close()
    thread.join()


@pytest.fixture
def downloader() -> Iterator[Downloader]:
    with Downloader(Manners("a@example.org", 0, retries=3, backoff_s=0.01)) as ours:
        yield ours


def get(downloader: Downloader, server: Server, page: Answer, target: Path) -> Outcome:
    server.pages["/a.pdf"] = page
    return downloader.fetch(f"{server.url}/a.pdf", target, is_pdf)


@pytest.mark.parametrize(
    "page",
    [
        whole(PDF),
        first(2, status(500), whole(PDF)),
        first(1, status(429, Retry_After="0"), whole(PDF)),
        first(1, status(503, Retry_After="Thu, 01 Jan 1970 00:00:00 GMT"), whole(PDF)),
        truncated,
    ],
)
def test_what_passes_is_waited_for(
    server: Server, downloader: Downloader, tmp_path: Path, page: Answer
) -> None:
    outcome = get(downloader, server, page, tmp_path / "a.pdf")
    assert outcome.error is None
    assert (tmp_path / "a.pdf").read_bytes() == PDF
    assert [path.name for path in tmp_path.iterdir()] == ["a.pdf"]


def test_a_truncated_file_is_continued(
    server: Server, downloader: Downloader, tmp_path: Path
) -> None:
    get(downloader, server, truncated, tmp_path / "a.pdf")
    assert f"bytes={len(PDF) // 2}-" in server.ranges


@pytest.mark.parametrize(
    ("page", "error", "requests"),
    [
        (status(404), "HTTP 404", 1),
        (status(403), "HTTP 403", 1),
        (status(500), "HTTP 500; tried 4 times", 4),
        (whole(b"<html>Please log in</html>", "text/html"), "not what it should be", 1),
        (whole(b""), "not what it should be", 1),
        (status(302, Location="/a.pdf"), "redirected in a circle", 11),
    ],
)
def test_what_does_not_pass_is_an_error(
    server: Server,
    downloader: Downloader,
    tmp_path: Path,
    page: Answer,
    error: str,
    requests: int,
) -> None:
    outcome = get(downloader, server, page, tmp_path / "a.pdf")
    assert outcome.sha256 is None
    assert error in (outcome.error or "")
    assert not (tmp_path / "a.pdf").exists()
    assert server.asked.count("/a.pdf") == requests


def test_what_drips_is_given_up(server: Server, tmp_path: Path) -> None:
    manners = Manners("a@example.org", 0, retries=3, backoff_s=0.01, deadline_s=0.4)
    with Downloader(manners) as impatient:
        outcome = get(impatient, server, dripping, tmp_path / "a.pdf")
    assert outcome == Outcome(None, "not whole within 0.4 s; tried 4 times")
    assert not (tmp_path / "a.pdf").exists()
    assert server.asked.count("/a.pdf") == 4


def test_redirects_are_followed(server: Server, downloader: Downloader, tmp_path: Path) -> None:
    server.pages["/b.pdf"] = whole(PDF)
    assert get(downloader, server, status(301, Location="/b.pdf"), tmp_path / "a.pdf").error is None


def test_robots_are_obeyed(server: Server, downloader: Downloader, tmp_path: Path) -> None:
    server.pages["/robots.txt"] = whole(b"User-agent: *\nDisallow: /private/\n", "text/plain")
    server.pages["/private/a.pdf"] = whole(PDF)
    outcome = downloader.fetch(f"{server.url}/private/a.pdf", tmp_path / "a.pdf", is_pdf)
    assert outcome.error == "robots.txt of the host forbids it"
    assert get(downloader, server, whole(PDF), tmp_path / "b.pdf").error is None
    assert server.asked.count("/robots.txt") == 1
    assert all("mailto:a@example.org" in agent for agent in server.agents)


def test_what_is_there_is_not_asked_for_again(
    server: Server, downloader: Downloader, tmp_path: Path
) -> None:
    (tmp_path / "a.pdf").write_bytes(PDF)
    assert get(downloader, server, status(500), tmp_path / "a.pdf").error is None
    assert server.asked == []


def test_a_host_that_is_not_there(downloader: Downloader, tmp_path: Path) -> None:
    outcome = downloader.fetch("http://127.0.0.1:9/a.pdf", tmp_path / "a.pdf", is_any)
    assert "connection failed" in (outcome.error or "")


def test_xml_is_not_a_web_page(tmp_path: Path) -> None:
    for text, expected in (("<article/>", True), ("<!DOCTYPE html><html/>", False), ("no", False)):
        (tmp_path / "a.xml").write_text(text)
        assert is_xml(tmp_path / "a.xml") == expected


def run(server: Server, tmp_path: Path, platform: str, **options: object) -> Path:
    config = FetchConfig.model_validate(
        {
            "platform": platform, "out": tmp_path / "corpus", "contact": "a@example.org",
            "platforms": tmp_path / "platforms.yaml", "interval_s": 0, "retries": 1,
            "backoff_s": 0.01, **options,
        }
    )  # fmt: skip
    return fetch(config, NullTracker()).manifest


def test_an_index_of_addresses(server: Server, tmp_path: Path) -> None:
    (tmp_path / "platforms.yaml").write_text(
        f'ore: {{kind: index, index: "{server.url}/list", find: "/xml$", replace: /pdf}}\n'
    )
    names = [f"articles/1-{n}/v1" for n in range(4)]
    listed = "\n".join(f"{server.url}/{name}/xml" for name in [*names, names[0]])
    server.pages["/list"] = whole(listed.encode(), "text/plain")
    for number, name in enumerate(names):
        server.pages[f"/{name}/xml"] = whole(XML, "text/xml")
        page = whole(b"<html/>", "text/html") if number == 2 else whole(PDF)
        server.pages[f"/{name}/pdf"] = page
    manifest = run(server, tmp_path, "ore")
    assert [(e.id, e.source) for e in read_corpus(manifest)] == [
        (f"articles-1-{n}-v1", "ore") for n in (0, 1, 3)
    ]
    server.pages["/articles/1-2/v1/pdf"] = whole(PDF)
    before = len(server.asked)
    assert len(read_corpus(run(server, tmp_path, "ore"))) == 4
    new = [path for path in server.asked[before:] if path != "/robots.txt"]
    assert new == ["/articles/1-2/v1/pdf"]


def test_an_archive(server: Server, tmp_path: Path) -> None:
    archive = tmp_path / "made.zip"
    with zipfile.ZipFile(archive, "w") as made:
        for name, body in (
            ("j1/a.pdf", PDF), ("j1/a.xml", XML), ("j2/alone.pdf", PDF), ("../../evil.pdf", PDF),
            ("../../evil.xml", XML), ("notes.txt", b"x"),
        ):  # fmt: skip
            made.writestr(name, body)
    server.pages["/all.zip"] = whole(archive.read_bytes(), "application/zip")
    (tmp_path / "platforms.yaml").write_text(
        f"pkp: {{kind: archive, archive: '{server.url}/all.zip'}}\n"
    )
    entries = read_corpus(run(server, tmp_path, "pkp"))
    assert [entry.id for entry in entries] == ["evil", "j1-a"]
    inside = (tmp_path / "corpus").resolve()
    assert all(inside in entry.pdf.resolve().parents for entry in entries)
    assert not (tmp_path.parent / "evil.pdf").exists()


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_damaged_archive_is_told(server: Server, tmp_path: Path, kind: str) -> None:
    inside = tmp_path / "a.pdf"
    inside.write_bytes(PDF + random.Random(0).randbytes(5_000))
    archive = tmp_path / f"made.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
            zipped.write(inside, "a.pdf")
    else:
        with tarfile.open(archive, "w:gz") as tarred:
            tarred.add(inside, "a.pdf")
    damaged = bytearray(archive.read_bytes())
    if kind == "zip":
        damaged[2_000] ^= 0xFF
    else:
        del damaged[2_000:]
    server.pages[f"/all.{kind}"] = whole(bytes(damaged), "application/octet-stream")
    (tmp_path / "platforms.yaml").write_text(
        f"pkp: {{kind: archive, archive: '{server.url}/all.{kind}'}}\n"
    )
    with pytest.raises(JobError, match=r"all\.(zip|tar\.gz) is damaged .*Delete it"):
        run(server, tmp_path, "pkp")


JATS = (
    '<article xml:lang="pt"><front><journal-meta><journal-id>rsp</journal-id></journal-meta>'
    '<article-meta><article-id pub-id-type="publisher-id">S0034-89102013000100008</article-id>'
    '<article-id pub-id-type="doi">10.5555/x1</article-id><volume>7</volume></article-meta>'
    "</front></article>"
)


def test_jats_at_hand(server: Server, tmp_path: Path) -> None:
    jats = tmp_path / "jats"
    jats.mkdir()
    (jats / "one.xml").write_text(JATS)
    (tmp_path / "platforms.yaml").write_text(
        f"scielo: {{kind: jats, pdf: '{server.url}/{{journal_id}}/{{scielo_pid}}.pdf'}}\n"
        f"redalyc: {{kind: jats, pdf: '{server.url}/{{issue}}.pdf'}}\n"
    )
    server.pages["/rsp/S0034-89102013000100008.pdf"] = whole(PDF)
    entry = read_corpus(run(server, tmp_path, "scielo", jats=jats))[0]
    assert (entry.id, entry.source, entry.doi) == ("one", "scielo", "10.5555/x1")
    with pytest.raises(JobError, match="the JATS has no 'issue' for the PDF's address"):
        run(server, tmp_path, "redalyc", jats=jats, out=tmp_path / "other")
    with pytest.raises(InputError, match="--jats"):
        run(server, tmp_path, "scielo", out=tmp_path / "third")


def test_wrong_requests_are_named(server: Server, tmp_path: Path) -> None:
    (tmp_path / "platforms.yaml").write_text(f"ore: {{kind: index, index: '{server.url}/none'}}\n")
    with pytest.raises(InputError, match=r"platform ore, index\.find"):
        run(server, tmp_path, "ore")
    server.pages["/list"] = whole(b"http://127.0.0.1/a", "text/plain")
    (tmp_path / "platforms.yaml").write_text(
        f"ore: {{kind: index, index: '{server.url}/list', find: '(', replace: x}}\n"
        "scielo: {kind: jats, pdf: 'http://127.0.0.1/{doi'}\n"
    )
    with pytest.raises(InputError, match="regular expression"):
        run(server, tmp_path, "ore")
    (tmp_path / "one.xml").write_text(JATS)
    with pytest.raises(InputError, match="no template of an address"):
        run(server, tmp_path, "scielo", jats=tmp_path, out=tmp_path / "other")
    with pytest.raises(InputError, match="No platform 'arxiv'"):
        run(server, tmp_path, "arxiv")


def test_an_archive_without_an_address(server: Server, tmp_path: Path) -> None:
    (tmp_path / "platforms.yaml").write_text("pkp: {kind: archive, archive: ''}\n")
    with pytest.raises(InputError, match="address of the archive is not known"):
        run(server, tmp_path, "pkp")


def test_no_index_is_a_failed_job(server: Server, tmp_path: Path) -> None:
    (tmp_path / "platforms.yaml").write_text(
        f"ore: {{kind: index, index: '{server.url}/none', find: x, replace: y}}\n"
    )
    with pytest.raises(JobError, match="HTTP 404"):
        run(server, tmp_path, "ore")


def test_the_shipped_addresses_are_valid() -> None:
    from reno_dspy.fetch.platforms import read_platform

    assert [read_platform(name).kind for name in ("ore", "pkp", "redalyc", "scielo")] == [
        "index", "archive", "jats", "jats",
    ]  # fmt: skip


def test_the_command_says_what_it_needs() -> None:
    result = CliRunner().invoke(group, ["fetch", "--platform", "ore", "--out", "x"])
    assert isinstance(result.exception, InputError)
    assert "--contact" in str(result.exception)


def test_rules_that_cannot_be_read_forbid_until_they_can(server: Server, tmp_path: Path) -> None:
    server.pages["/robots.txt"] = status(503)
    server.pages["/a.pdf"] = whole(PDF)
    with Downloader(Manners("a@example.org", 0, retries=1, backoff_s=0.01)) as downloader:
        outcome = downloader.fetch(f"{server.url}/a.pdf", tmp_path / "a.pdf", is_pdf)
        assert "robots.txt cannot be read (HTTP 503)" in (outcome.error or "")
        assert "/a.pdf" not in server.asked
        server.pages["/robots.txt"] = status(404)
        assert downloader.fetch(f"{server.url}/a.pdf", tmp_path / "a.pdf", is_pdf).error is None


def test_every_request_waits_for_its_turn_and_asks_for_leave(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("reno_dspy.fetch.download.time.sleep", waited.append)
    server.pages["/robots.txt"] = whole(b"User-agent: *\nDisallow: /private\n", "text/plain")
    server.pages["/a.pdf"] = status(302, Location="/b.pdf")
    server.pages["/b.pdf"] = whole(PDF)
    server.pages["/c.pdf"] = status(302, Location="/private/c.pdf")
    with Downloader(Manners("a@b.c", interval_s=60)) as downloader:
        assert downloader.fetch(f"{server.url}/a.pdf", tmp_path / "a.pdf", is_pdf).error is None
        # robots.txt, the file and what it leads to: three requests, two of them after another one.
        assert sum(seconds > 50 for seconds in waited) == 2
        outcome = downloader.fetch(f"{server.url}/c.pdf", tmp_path / "c.pdf", is_pdf)
    assert outcome.error == "robots.txt of the host forbids it"


@pytest.mark.parametrize("url", ["https://[bad/a.pdf", "ftp://host/a.pdf", "no address"])
def test_what_is_no_address_is_an_error_of_that_file(url: str, tmp_path: Path) -> None:
    with Downloader(Manners("a@example.org", 0, retries=1, backoff_s=0.01)) as downloader:
        assert "not an address" in (downloader.fetch(url, tmp_path / "a", is_any).error or "")


def test_ids_are_file_names_and_no_two_alike() -> None:
    addresses = _addresses(
        "http://h/a/1 https://h/a/1 https://h/a-1 https://h/A/1 https://h/" + "long/" * 90
    )
    assert addresses[0] == "https://h/a/1"
    ids = _Ids()
    found = [ids.of(url) for url in addresses]
    assert len({name.lower() for name in found}) == len(found) == 4
    assert found[0] == "a-1"
    assert max(len(name.encode()) for name in found) <= 200
    assert [_Ids().of(url) for url in addresses[:1]] == found[:1]


def test_a_member_that_cannot_be_read_costs_itself_alone(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = tmp_path / "all.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        for name, body in (("a.pdf", PDF), ("a.xml", XML), ("b.pdf", PDF), ("b.xml", XML)):
            zipped.writestr(name, body)
    data = bytearray(archive.read_bytes())
    # The flag for encryption, in the directory's entry and the local header of b.pdf.
    for at in (data.rfind(b"PK\x01\x02", 0, data.rfind(b"b.pdf")) + 8,
               data.rfind(b"PK\x03\x04", 0, data.find(b"b.pdf")) + 6):  # fmt: skip
        data[at] |= 1
    archive.write_bytes(data)
    assert sorted(_unpack_all(archive, tmp_path / "unpacked")) == ["a", "b"]
    assert "b.pdf is left out" in capsys.readouterr().err
    assert [p.name for p in sorted((tmp_path / "unpacked").iterdir())] == [
        "a.pdf",
        "a.xml",
        "b.xml",
    ]


def test_an_archive_made_to_fill_the_disk_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reno_dspy.fetch.platforms._MAX_UNPACKED", 2**20)
    archive = tmp_path / "bomb.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for number in range(40):
            zipped.writestr(f"{number}.pdf", b"%PDF-" + bytes(2**20 - 9))
    with pytest.raises(JobError, match="times its size"):
        _unpack_all(archive, tmp_path / "unpacked")
