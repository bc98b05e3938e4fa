"""Publishing to a hub: a real client against a small hub on loopback."""

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from reno_dspy.data.dataset import Row, load, save

PUSH = (
    "import sys; from pathlib import Path; from reno_dspy.base.errors import JobError\n"
    "from reno_dspy.data.hub import push_to_hub\n"
    "try: print(push_to_hub(Path(sys.argv[1]), 'me/references', 'abc'))\n"
    "except JobError as error: sys.exit(f'JobError: {error}')"
)


@dataclass
class Hub:
    """What a hub was asked to make and to keep."""

    url: str
    status: int = 200
    made: list[dict[str, object]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    tokens: set[str | None] = field(default_factory=set)


@pytest.fixture
def hub() -> Iterator[Hub]:
    ours = Hub("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            ours.tokens.add(self.headers["Authorization"])
            self.answer(self.take(body) if ours.status == 200 else {"error": "no"})

        def take(self, body: bytes) -> object:
            if self.path.endswith("/repos/create"):
                ours.made.append(json.loads(body))
                return {"url": f"{ours.url}/datasets/me/references"}
            if "/preupload/" in self.path:
                names = [one["path"] for one in json.loads(body)["files"]]
                return {
                    "files": [
                        {"path": name, "uploadMode": "regular", "shouldIgnore": False}
                        for name in names
                    ]
                }
            if "/commit/" in self.path:
                for line in body.splitlines():
                    value = json.loads(line)["value"]
                    if "content" in value:
                        ours.files[value["path"]] = base64.b64decode(value["content"])
                return {
                    "commitUrl": f"{ours.url}/datasets/me/references/commit/1",
                    "commitOid": "1",
                }
            return {"errors": [], "warnings": []}

        def answer(self, value: object) -> None:
            body = json.dumps(value).encode()
            self.send_response(ours.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    ours.url = f"http://127.0.0.1:{httpd.server_port}"
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
    thread.start()
    yield ours
    httpd.shutdown()
    httpd.server_close()
    thread.join()


def push(hub: Hub, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_OFFLINE")}
    environment |= {
        "HF_ENDPOINT": hub.url,
        "HF_TOKEN": "hf_secret",
        "HF_HOME": str(folder / "home"),
    }
    return subprocess.run(
        [sys.executable, "-c", PUSH, str(folder / "set")],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [Row(None, f"Text {n}", "<mixed-citation/>", "pkp") for n in range(3)]
    save({"train": rows[:2], "test": rows[2:]}, tmp_path / "set", "A card.", {})
    (tmp_path / "set" / "stages").mkdir()
    (tmp_path / "set" / "stages" / "convert.jsonl").write_text("{}\n")
    return tmp_path


def test_the_data_set_is_published_and_nothing_else(hub: Hub, folder: Path) -> None:
    done = push(hub, folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("/datasets/me/references")
    assert set(hub.files) == {
        "README.md", "manifest.json",
        "data/train-00000-of-00001.parquet", "data/test-00000-of-00001.parquet",
    }  # fmt: skip
    assert hub.made[0]["name"] == "references"
    assert hub.made[0]["type"] == "dataset"
    for name, content in hub.files.items():
        assert content == (folder / "set" / name).read_bytes()
    assert load(str(folder / "set"), "test").rows[0].plaintext == "Text 2"
    assert hub.tokens == {"Bearer hf_secret"}


def test_a_refusal_is_said_plainly(hub: Hub, folder: Path) -> None:
    hub.status = 403
    done = push(hub, folder)
    assert done.returncode == 1
    assert done.stderr.startswith("JobError: The hub did not take me/references")
    assert "hf_secret" not in done.stderr
