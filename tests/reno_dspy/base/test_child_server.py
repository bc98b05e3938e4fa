"""Child servers answer, say why they do not, and never outlive the process that started them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reno_dspy.base.child_server import (
    answers,
    child_environment,
    child_server,
    free_port,
    python_module,
    url_of,
)
from reno_dspy.base.errors import JobError

# A server that takes no hint to stop.
STUBBORN = (
    "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "open(sys.argv[1], 'w').write(str(__import__('os').getpid())); time.sleep(600)"
)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_for(what: Path) -> int:
    for _ in range(600):
        if what.exists() and what.read_text():
            return int(what.read_text())
        time.sleep(0.05)
    raise AssertionError(f"{what} was never written")


def gone(pid: int) -> bool:
    for _ in range(600):
        if not is_alive(pid):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::1"])
def test_a_server_answers_at_its_address_and_ends_with_the_body(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if host == "::1" and not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # as in a cluster
    port = free_port(host)
    address = url_of(host, port)
    command = python_module("http.server", str(port), "--bind", host, "--directory", str(tmp_path))
    with child_server("The file server", command, log=tmp_path / "log") as server:
        server.wait_until(lambda: answers(address), 60)
    assert not answers(address)


def test_an_address_is_one_that_this_machine_can_ask() -> None:
    assert url_of("node17", 8000) == "http://node17:8000"
    assert url_of("2001:db8::1", 8000) == "http://[2001:db8::1]:8000"
    assert url_of("::", 8000) == "http://[::1]:8000"


def test_a_server_that_ends_early_is_reported_with_its_last_words(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('no such model'); raise SystemExit(3)"]
    with (
        child_server("The model server", command, log=tmp_path / "log") as server,
        pytest.raises(JobError, match=r"The model server ended .*\n.*no such model"),
    ):
        server.wait_until(lambda: False)
    with child_server("It", [sys.executable, "-c", "raise SystemExit(3)"]) as server:
        assert server.wait() == 3


def test_a_server_that_is_too_slow_is_reported(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    with (
        child_server("The server", command, log=tmp_path / "log") as server,
        pytest.raises(JobError, match=r"did not answer in 0\.2 s"),
    ):
        server.wait_until(lambda: False, 0.2)


def test_a_server_ends_with_a_parent_that_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid_file = tmp_path / "pid"
    code = (
        "import sys, reno_dspy.base.child_server as c\n"
        f"with c.child_server('It', [sys.executable, '-c', {STUBBORN!r}, {str(pid_file)!r}]) as s:\n"
        "    s.wait()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], env=child_environment())
    server = wait_for(pid_file)
    assert is_alive(server)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    assert gone(server)


def test_a_users_module_of_our_name_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "finetune.py").write_text("raise SystemExit('the wrong module')")
    command = python_module("finetune.serving.job", "--help")
    done = subprocess.run(
        command, cwd=tmp_path, env=child_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
