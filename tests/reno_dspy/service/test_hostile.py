"""Clients that mean harm, over real sockets: each is answered or cut, and others are served meanwhile."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from tests.reno_dspy.build.pdf.test_convert import bomb
from tests.reno_dspy.service.running import PATIENCE, Service, serving

TOKEN = "a-secret-of-many-letters"
LIMITS = {
    "body_mb": 1, "queue": 1_500, "references": 2_000, "requests": 8, "seconds": 10, "body_seconds": 3,
    "head_seconds": 2,
}  # fmt: skip
ITO = "Ito K. Foxes. J Fict Zool. 2010;12(3):200-9."
HEAD = (
    f"POST /annotate HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
    "Content-Type: text/plain\r\n"
)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with a token and small limits, whose client knows the token."""
    limits = [f"--set=limits.{name}={value}" for name, value in LIMITS.items()]
    with serving(tmp_path_factory.mktemp("guarded"), "crf", *limits, RENO_TOKEN=TOKEN) as service:
        service.client.headers["authorization"] = f"Bearer {TOKEN}"
        yield service


@pytest.fixture
def connect(guarded: Service) -> Iterator[Callable[[str], socket.socket]]:
    """Opens a connection and sends a text on it."""
    with ExitStack() as stack:

        def opened(text: str) -> socket.socket:
            connection = socket.create_connection(("127.0.0.1", guarded.port), timeout=PATIENCE)
            stack.enter_context(connection)
            connection.sendall(text.encode())
            return connection

        yield opened


def serves(service: Service) -> bool:
    answer = service.client.post("/annotate", json=[ITO])
    return answer.status_code == 200 and answer.json()["references"][0]["text"] == ITO


def metric(service: Service, name: str) -> float:
    lines = service.client.get("/metrics").text.splitlines()
    return next((float(line.split()[-1]) for line in lines if line.startswith(f"{name} ")), 0.0)


def received(connection: socket.socket) -> str:
    """All that comes until the other side closes."""
    found = b""
    try:
        while chunk := connection.recv(1 << 16):
            found += chunk
    except ConnectionResetError:
        pass
    return found.decode()


@pytest.mark.parametrize(
    "sent", ["", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer é"]
)
def test_only_the_token_opens(guarded: Service, sent: str) -> None:
    with httpx.Client(base_url=guarded.url, trust_env=False, timeout=PATIENCE) as client:
        headers = {"authorization": sent.encode()} if sent else {}
        for path in ("/annotate", "/api/processCitation", "/corrections", "/export"):
            answer = client.post(path, content=b"x" * 2_000_000, headers=headers)
            assert answer.status_code == 401, path
            assert answer.headers["www-authenticate"] == "Bearer"
        assert client.get("/metrics", headers=headers).status_code == 401
        assert client.get("/health").json() == {"status": "ok"}
        assert client.get("/").status_code == 200
    assert serves(guarded)


def test_a_body_over_the_limit_is_refused_before_or_while_it_comes(
    guarded: Service, connect: Callable[[str], socket.socket]
) -> None:
    told = connect(f"{HEAD}Content-Length: 100000000\r\n\r\nIto")
    assert "413" in told.recv(100).decode()
    chunked = connect(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n")
    chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    before = guarded.memory
    # The service may cut the connection while this still sends; the status is counted below.
    with suppress(OSError):
        for _ in range(100):
            chunked.sendall(chunk)
    assert serves(guarded)
    assert guarded.memory - before < 30
    metrics = guarded.client.get("/metrics").text
    for route in (
        "none",
        "/annotate",
    ):  # refused before its route was looked for, and while it was read
        assert f'reno_requests_total{{route="{route}",status="413"}} 1.0' in metrics


def test_slow_heads_and_bodies_are_cut(
    guarded: Service, connect: Callable[[str], socket.socket]
) -> None:
    silent = [connect("") for _ in range(20)]
    heads = [connect(HEAD) for _ in range(20)]
    bodies = [connect(f"{HEAD}Content-Length: 100\r\n\r\nIto") for _ in range(4)]
    again = connect(f"GET /health HTTP/1.1\r\nHost: x\r\n\r\n{HEAD}")
    assert serves(guarded)
    for connection in (*silent, *heads):
        assert received(connection) == ""
    for connection in bodies:
        assert "The body took more than 3 s." in received(connection)
    assert received(again).count("HTTP/1.1") == 1


def test_a_client_that_takes_no_answer_is_cut(
    guarded: Service, connect: Callable[[str], socket.socket]
) -> None:
    greedy = connect("")
    request = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"

    def ask() -> None:
        try:
            while True:
                greedy.sendall(request * 100)
        except OSError:
            pass

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    poll = select.poll()
    poll.register(greedy, 0)
    assert serves(guarded)
    assert poll.poll(PATIENCE * 1000), "the connection is still open"
    asking.join(PATIENCE)


def test_one_address_cannot_take_every_place(
    guarded: Service, connect: Callable[[str], socket.socket]
) -> None:
    held = [connect(f"{HEAD}Content-Length: 100\r\n\r\nIto") for _ in range(LIMITS["requests"])]
    statuses = set()
    while 429 not in statuses:
        answer = guarded.client.get("/metrics")
        statuses.add(answer.status_code)
    assert answer.json()["detail"] == "At most 8 requests of one address at the same time."
    for connection in held:
        assert "408" in connection.recv(100).decode()
    assert serves(guarded)


def test_references_that_wait_are_bounded_and_forgotten_with_their_client(
    guarded: Service, connect: Callable[[str], socket.socket]
) -> None:
    busy = guarded.client.post("/annotate", json=[ITO] * 1_501)
    assert busy.status_code == 503
    assert busy.json()["detail"] == "Too many references wait for an answer. Try again soon."
    assert busy.headers["retry-after"] == "5"
    lines = "\n".join(f"{ITO} {number}" for number in range(1_500))
    before = metric(guarded, 'reno_references_total{outcome="annotated"}')
    leaving = connect(f"{HEAD}Content-Length: {len(lines)}\r\n\r\n{lines}")
    while not metric(guarded, "reno_waiting_references"):
        pass
    leaving.close()
    while metric(guarded, "reno_waiting_references"):
        pass
    assert metric(guarded, 'reno_references_total{outcome="annotated"}') - before < 1_500
    assert serves(guarded)


@pytest.mark.slow
def test_a_bomb_of_a_pdf_costs_one_answer(guarded: Service, tmp_path: Path) -> None:
    content = bomb(tmp_path / "bomb.pdf", 900).read_bytes()
    answers: list[httpx.Response] = []

    def send() -> None:
        with httpx.Client(timeout=PATIENCE, trust_env=False) as client:
            headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/pdf"}
            answers.append(client.post(f"{guarded.url}/annotate", content=content, headers=headers))

    sending = threading.Thread(target=send)
    sending.start()
    assert serves(guarded)
    sending.join(PATIENCE)
    assert answers[0].status_code == 422
    assert "The PDF cannot be read: converting" in answers[0].json()["detail"]
    assert serves(guarded)


def test_nothing_of_a_request_is_logged(
    guarded: Service, connect: Callable[[str], socket.socket]
) -> None:
    typed = "Unpublished-manuscript-of-Ito"
    guarded.client.post(f"/annotate?q={typed}", json=[typed])
    guarded.client.post(f"/{typed}", content=typed)
    guarded.client.post(
        "/annotate", content=f'{{"{typed}', headers={"content-type": "application/json"}
    )
    guarded.client.post("/export", json={"references": [{"text": typed, "spans": 3}]})
    guarded.client.post("/api/processReferences", files={"input": (typed, typed)})
    received(connect(f"{typed}\r\n\r\n"))
    assert typed not in guarded.said
    assert TOKEN not in guarded.said
    assert "Traceback" not in guarded.said


def test_other_sites_cannot_call_a_service_without_a_token(crf: Service) -> None:
    answer = crf.client.post("/annotate", json=[ITO], headers={"host": "evil.example:8070"})
    assert answer.status_code == 421
    for host in ("localhost:1", "[::1]", "127.0.0.1"):
        assert crf.client.get("/health", headers={"host": host}).status_code == 200
    assert json.loads(crf.client.get("/openapi.json").text)["info"]["title"] == "reno-dspy"
