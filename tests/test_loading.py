"""Annotating loads what the chosen system needs, and nothing of training or tracking."""

from __future__ import annotations

import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

# Libraries that take long to load, or that an installation may lack.
HEAVY = {
    "accelerate", "datasets", "dspy", "matplotlib", "mlflow", "onnxruntime", "pandas", "peft",
    "pyarrow", "pycrfsuite", "ray", "scipy", "torch", "transformers", "trl",
}  # fmt: skip
TRAINERS = ("transformers.trainer", "finetune.training")
ANNOTATE = """
import json, sys
from reno_dspy.cli.main import main
main()
print(json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """An endpoint that answers every request alike."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send({"object": "list", "data": []})

        def do_POST(self) -> None:
            message = {"role": "assistant", "content": "<mixed-citation/>"}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            head = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
            self._send(head | {"choices": [choice]})

        def _send(self, value: object) -> None:
            data = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as endpoint:
        threading.Thread(target=endpoint.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{endpoint.server_port}/v1"
        endpoint.shutdown()


def loaded(tmp_path: Path, *options: str) -> set[str]:
    """The modules in memory once `reno annotate` has written an annotation with these options."""
    out = tmp_path / "refs.xml"
    done = subprocess.run(
        [sys.executable, "-c", ANNOTATE, "annotate", "-", "--out", str(out), *options],
        input="Ito K. Foxes. J Fict Zool. 2010;12(3):200-9.\n",
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert out.is_file()
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("system", "needs"),
    [
        ("crf", set()),
        ("tagger", {"onnxruntime"}),
        ("smollm2-135m", {"dspy"}),
        ("qwen3-0.6b", {"dspy"}),
    ],
)
def test_a_system_loads_what_it_needs(
    system: str, needs: set[str], server: str, tmp_path: Path
) -> None:
    options = {"qwen3-0.6b": ["--api-base", server], "smollm2-135m": ["--max-tokens", "4"]}
    modules = loaded(tmp_path, "--system", system, *options.get(system, ()))
    assert modules & HEAVY == needs
    assert not {name for name in modules if name.startswith(TRAINERS)}
