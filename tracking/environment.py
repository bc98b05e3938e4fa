"""What a run was made with: command, commit, versions; and the keys that must never be kept."""

from __future__ import annotations

import getpass
import os
import platform
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from tracking.store import public_uri

PACKAGES = (
    "reno-dspy",
    "dspy",
    "gepa",
    "litellm",
    "transformers",
    "trl",
    "peft",
    "torch",
    "datasets",
    "mlflow",
    "markitdown",
    "pypdfium2",
    "python-crfsuite",
)
# Which process writes a run: `reno runs clean` asks whether it is still there.
PROCESS = "process"
HIDDEN = "***"
# `max_tokens` and `eos_token` are no secrets, so fields are judged more narrowly than variables.
_SECRET_FIELD = re.compile(
    r"(^|[._-])(api_?key|(auth|access|hf|bearer)_?token|secret|password|credentials?)$",
    re.IGNORECASE,
)
_SECRET_VARIABLE = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$", re.IGNORECASE)
_SECRET_FLAG = re.compile(r"^--[\w.-]*(key|token|secret|password)(=|$)", re.IGNORECASE)
_SECRET_PAIR = re.compile(r"([\w.]*(?:api_?key|token|secret|password))=\S+", re.IGNORECASE)
_SHORTEST_SECRET = 8


def about() -> dict[str, str]:
    """Tags that say what made a run: command line, user, our version, git commit (in a checkout)."""
    words = _words()
    tags = {
        "command": command_line(words),
        "mlflow.source.name": " ".join(words[:2]),
        "mlflow.source.type": "LOCAL",
        "mlflow.user": _user(),
        "version": _version("reno-dspy") or "unknown",
        PROCESS: f"{socket.gethostname()}:{os.getpid()}",
    }
    return tags | _git()


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container whose user has no name
        return f"user {os.getuid()}"


def versions() -> dict[str, str]:
    """Python and the packages that results may depend on, with their versions."""
    found = {name: version for name in PACKAGES if (version := _version(name))}
    return {"python": sys.version.split()[0], "platform": platform.platform()} | found


def _words() -> list[str]:
    """The words of the command that runs: as given, or, inside `reno demo`, as that gave them."""
    context = click.get_current_context(silent=True)
    if context is None:
        return ["reno", *sys.argv[1:]]
    words = context.command_path.split()
    for parameter in context.command.params:
        name = parameter.name or ""
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            words += _given(parameter, context.params.get(name))
    return words


def _given(parameter: click.Parameter, value: Any) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    if isinstance(parameter, click.Argument):
        return [str(one) for one in values]
    if isinstance(value, bool):
        return [parameter.opts[0] if value else parameter.secondary_opts[0]]
    return [word for one in values for word in (parameter.opts[0], str(one))]


def command_line(words: list[str]) -> str:
    """The command that reproduces a run, with the values of key-like options hidden."""
    shown = []
    for before, word in zip(["", *words], words, strict=False):
        flag = _SECRET_FLAG.match(before)
        if flag and not flag.group(2):
            word = HIDDEN
        elif _SECRET_FLAG.match(word) and "=" in word:
            word = word.partition("=")[0] + f"={HIDDEN}"
        shown.append(_SECRET_PAIR.sub(rf"\1={HIDDEN}", public_uri(word)))
    return shlex.join(shown)


def scrub(value: Any, secrets: frozenset[str] | None = None) -> Any:
    """`value` (JSON-like) without keys: by the name of a field, and by the value of a variable."""
    if secrets is None:
        secrets = secret_values()
    if isinstance(value, Mapping):
        return {
            name: HIDDEN if _names_a_secret(str(name), inner) else scrub(inner, secrets)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [scrub(inner, secrets) for inner in value]
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, HIDDEN)
    return value


def secret_values() -> frozenset[str]:
    """The values of environment variables whose name says that they are keys."""
    return frozenset(
        value
        for name, value in os.environ.items()
        if _SECRET_VARIABLE.search(name) and len(value) >= _SHORTEST_SECRET
    )


def _names_a_secret(name: str, value: Any) -> bool:
    return isinstance(value, str) and bool(value) and bool(_SECRET_FIELD.search(name))


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _git() -> dict[str, str]:
    """The commit of the checkout that this code runs from, and whether it was changed."""
    root = Path(__file__).resolve().parents[1]
    if not (root / ".git").exists():
        return {}
    try:
        commit = _ask_git(root, "rev-parse", "HEAD")
        changed = bool(_ask_git(root, "status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return {}
    return {"mlflow.source.git.commit": commit, "git.changed": str(changed).lower()}


def _ask_git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    return done.stdout.strip()
