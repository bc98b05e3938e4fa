"""Servers on this machine are asked directly, whatever proxy the environment names."""

from __future__ import annotations

import os

_HOSTS = ("localhost", "127.0.0.1", "::1")


def bypass_proxies() -> None:
    """Add this machine to `NO_PROXY` and `no_proxy`, for this process and those that it starts.

    A cluster's `http_proxy` is meant for the outside; without this, every HTTP client here would ask it
    for the servers that we start ourselves.
    """
    given = f"{os.environ.get('no_proxy', '')},{os.environ.get('NO_PROXY', '')}"
    hosts = dict.fromkeys(host.strip() for host in given.split(",") if host.strip())
    value = ",".join([*hosts, *(host for host in _HOSTS if host not in hosts)])
    if "*" not in hosts:
        os.environ["no_proxy"] = os.environ["NO_PROXY"] = value
