"""No proxy of the environment stands between us and a server on this machine."""

from __future__ import annotations

import os

import httpx
import pytest

from reno_dspy.base.loopback import bypass_proxies


@pytest.mark.parametrize("given", [None, "", "intranet.example, .org", "127.0.0.1", "*"])
def test_loopback_is_asked_directly(given: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, given or "")
        if given is None:
            monkeypatch.delenv(name)
    bypass_proxies()
    bypass_proxies()  # a second call changes nothing
    with httpx.Client() as client:
        for host in ("127.0.0.1", "localhost", "[::1]"):
            assert client._transport_for_url(httpx.URL(f"http://{host}:80/v1")) is client._transport
    words = [word.strip() for word in os.environ["no_proxy"].split(",")]
    assert len(words) == len(set(words))
    assert set((given or "").replace(" ", "").split(",")) - {""} <= set(words)
