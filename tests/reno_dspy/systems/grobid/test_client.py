"""GROBID: TEI as the real server answers it, read from a real HTTP server that plays its failures."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from reno_dspy.base.errors import InputError
from reno_dspy.base.tracker import NullTracker
from reno_dspy.data.dataset import Dataset, Row
from reno_dspy.jats.citation import MalformedXml, parse, read_values
from reno_dspy.measure.job import EvaluateConfig, evaluate
from reno_dspy.systems.grobid.client import Grobid
from reno_dspy.systems.grobid.tei import citation, citations

JOURNAL = """<biblStruct >
    <analytic>
        <title level="a" type="main">Bias &amp; noise in <hi>small</hi> samples</title>
        <author>
            <persName xmlns="http://www.tei-c.org/ns/1.0"><forename type="first">B</forename>
            <forename type="middle">M</forename><surname>Jackson</surname></persName>
        </author>
        <author><orgName type="collaboration">The ATLAS Collaboration</orgName></author>
        <idno type="DOI">10.1000/xyz</idno>
    </analytic>
    <monogr>
        <title level="j">Expert. Opin. Ther. Targets</title>
        <imprint>
            <biblScope unit="volume">6</biblScope>
            <biblScope unit="issue">1</biblScope>
            <biblScope unit="page" from="103" to="113" />
            <date type="published" when="2002-05" />
        </imprint>
    </monogr>
</biblStruct>
"""
CHAPTER = """<biblStruct xmlns="http://www.tei-c.org/ns/1.0">
    <analytic><title level="a">Zeit</title></analytic>
    <monogr>
        <title level="m">Handbuch</title>
        <editor><persName><forename>J</forename><surname>Garrido</surname></persName></editor>
        <imprint>
            <publisher>Nomos</publisher><pubPlace>Baden-Baden</pubPlace>
            <date>im Erscheinen</date><biblScope unit="page">17</biblScope>
        </imprint>
    </monogr>
</biblStruct>
"""
GOLD = "<mixed-citation><surname>Jackson</surname> <year>2002</year></mixed-citation>"

Answer = tuple[int, str]
Script = Callable[[str, list[str], int], Answer]


def _tei(*structs: str) -> str:
    body = "".join(structs)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader/>'
        f"<text><front/><body/><back><div><listBibl>{body}</listBibl></div></back></text></TEI>"
    )


class _Server(ThreadingHTTPServer):
    """Answers by `script(service, citations, number of the request)`."""

    daemon_threads = True
    script: Script
    requests: list[tuple[str, list[str]]]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def ask(self, *references: str, retries: int = 3) -> list[tuple[str, str | None]]:
        system = Grobid(self.url, retries=retries, wait_s=0.001)
        return [(c.text, c.error) for c in asyncio.run(system.annotate(references))]


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer(200, "0.9.1")

    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, _Server)
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        assert form["consolidateCitations"] == ["0"]
        service = self.path.removeprefix("/api/")
        server.requests.append((service, form["citations"]))
        self._answer(*server.script(service, form["citations"], len(server.requests)))

    def _answer(self, status: int, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):  # the client did not wait
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[_Server]:
    running = _Server(("127.0.0.1", 0), _Handler)
    running.requests = []
    thread = threading.Thread(target=running.serve_forever, args=(0.01,))
    thread.start()
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


def test_a_journal_article_in_jats() -> None:
    root = parse(citation(JOURNAL))
    assert root.get("publication-type") == "journal"
    assert read_values(root) == {
        "surname": ("Jackson",),
        "given-names": ("B M",),
        "article-title": ("Bias & noise in small samples",),
        "source": ("Expert. Opin. Ther. Targets",),
        "volume": ("6",),
        "issue": ("1",),
        "year": ("2002",),
    }
    others = read_values(root, ("fpage", "lpage", "collab", "pub-id"))
    assert others == {
        "fpage": ("103",),
        "lpage": ("113",),
        "collab": ("The ATLAS Collaboration",),
        "pub-id": ("10.1000/xyz",),
    }


def test_a_chapter_in_jats() -> None:
    root = parse(citation(CHAPTER))
    values = read_values(root, ("article-title", "source", "year", "fpage", "publisher-name"))
    assert values == {
        "article-title": ("Zeit",),
        "source": ("Handbuch",),
        "year": ("im Erscheinen",),
        "fpage": ("17",),
        "publisher-name": ("Nomos",),
    }
    assert [group.get("person-group-type") for group in root.iter("person-group")] == ["editor"]


def test_nothing_found_is_an_empty_annotation() -> None:
    assert citation("") == "<mixed-citation/>"
    assert citations(_tei()) == []


def test_entities_of_a_hostile_server_are_refused() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa">]><biblStruct><title level="a">&a;</title></biblStruct>'
    with pytest.raises(MalformedXml):
        citation(bomb)


def test_one_request_for_a_batch(server: _Server) -> None:
    server.script = lambda service, lines, n: (200, _tei(JOURNAL, CHAPTER))
    answers = server.ask("Jackson  BM.\nBias", "Zeit")
    assert server.requests == [("processCitationList", ["Jackson BM. Bias", "Zeit"])]
    assert [error for _, error in answers] == [None, None]
    assert "<surname>Jackson</surname>" in answers[0][0]
    assert "<source>Handbuch</source>" in answers[1][0]


def test_an_overloaded_server_is_asked_again(server: _Server) -> None:
    server.script = lambda service, lines, n: (
        (503, "busy") if n < 4 else (200, _tei(JOURNAL, CHAPTER))
    )
    assert [error for _, error in server.ask("a", "b")] == [None, None]
    assert len(server.requests) == 4


def test_a_server_that_stays_overloaded_gives_error_rows(server: _Server) -> None:
    server.script = lambda service, lines, n: (503, "busy")
    ((text, error),) = server.ask("a", retries=2)
    assert text == ""
    assert error == "GROBID, processCitation: HTTP 503 busy"
    assert len(server.requests) == 3


def test_one_reference_that_breaks_the_batch_costs_one_row(server: _Server) -> None:
    def script(service: str, lines: list[str], n: int) -> Answer:
        return (500, "NullPointerException") if "hostile" in lines else (200, JOURNAL)

    server.script = script
    answers = server.ask("fine", "hostile", "fine too")
    assert [error for _, error in answers] == [
        None,
        "GROBID, processCitation: HTTP 500 NullPointerException",
        None,
    ]
    assert [service for service, _ in server.requests].count("processCitation") == 3


@pytest.mark.parametrize(
    "broken", ["<biblStruct><analytic></biblStruct>", "", "<TEI/>", _tei(JOURNAL)]
)
def test_malformed_or_short_lists_are_asked_one_by_one(server: _Server, broken: str) -> None:
    def script(service: str, lines: list[str], n: int) -> Answer:
        return (200, broken if service == "processCitationList" else CHAPTER)

    server.script = script
    answers = server.ask("a", "b")
    assert all("<source>Handbuch</source>" in text and error is None for text, error in answers)


def test_malformed_tei_is_an_error_row(server: _Server) -> None:
    server.script = lambda service, lines, n: (200, "<biblStruct><analytic></biblStruct>")
    ((text, error),) = server.ask("a")
    assert text == ""
    assert error is not None
    assert error.startswith("GROBID's answer is not TEI: Opening and ending tag mismatch")


def test_no_content_is_an_empty_annotation(server: _Server) -> None:
    server.script = lambda service, lines, n: (204, "")
    assert server.ask("&%$") == [("<mixed-citation/>", None)]


def test_a_server_that_is_gone_gives_error_rows(server: _Server) -> None:
    system = Grobid("http://127.0.0.1:9", retries=1, wait_s=0.001)
    (completion,) = asyncio.run(system.annotate(["a"]))
    assert completion.error is not None
    assert "ConnectError" in completion.error


def test_a_batch_that_reaches_no_server_is_not_asked_one_by_one(server: _Server) -> None:
    server.script = lambda service, lines, n: (503, "busy")
    answers = server.ask("a", "b", "c", retries=2)
    assert [error for _, error in answers] == ["GROBID, processCitationList: HTTP 503 busy"] * 3
    assert len(server.requests) == 3


@pytest.mark.parametrize("hang_on", [{"hostile"}, {"hostile", "a", "b"}])
def test_a_reference_that_hangs_the_server(server: _Server, hang_on: set[str]) -> None:
    over = threading.Event()

    def script(service: str, lines: list[str], n: int) -> Answer:
        if hang_on & set(lines):
            over.wait(30)
        return 200, JOURNAL

    server.script = script
    system = Grobid(server.url, timeout_s=1.0, wait_s=0.001)
    found = asyncio.run(system.annotate(["a", "hostile", "b"]))
    over.set()
    assert [bool(one.error) for one in found] == [one in hang_on for one in ("a", "hostile", "b")]
    assert "no answer in 1 s" in str(found[1].error)
    # The batch, then each reference, but for those after two that hang.
    assert len(server.requests) == (4 if len(hang_on) == 1 else 3)


def test_identity_is_the_servers_version(server: _Server) -> None:
    assert Grobid(server.url).identity() == {"model": "grobid-0.9.1"}


def test_no_server_is_said_before_the_run() -> None:
    with pytest.raises(InputError, match="docker run"):
        Grobid("http://127.0.0.1:9").identity()


def test_an_evaluation_resumes_what_grobid_failed_on(server: _Server, tmp_path: Path) -> None:
    healthy = False

    def script(service: str, lines: list[str], n: int) -> Answer:
        if n == 1:
            return (503, "busy")
        broken = "hostile" in lines and not healthy
        return (200, "<TEI><broken>" if broken else _tei(*[JOURNAL for _ in lines]))

    server.script = script
    rows = [Row(None, text, GOLD, "made") for text in ("one", "hostile", "three")]
    dataset = Dataset(tuple(rows), "made", "made.jsonl", None)
    config = EvaluateConfig(
        system="grobid", data="made.jsonl", out=tmp_path / "run", max_errors=0.5
    )
    system = Grobid(server.url, wait_s=0.001)
    first = evaluate(config, system, dataset, NullTracker())
    assert (first.errors, first.fields["surname"].value("recall_lenient")) == (
        1,
        pytest.approx(66.6667),
    )
    healthy, asked = True, len(server.requests)
    second = evaluate(config, system, dataset, NullTracker())
    assert (second.errors, second.fields["surname"].value("recall_lenient")) == (0, 100)
    assert [lines for _, lines in server.requests[asked:]] == [["hostile"]]
