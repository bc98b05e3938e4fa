"""What a run was made with: its command, the commit, the versions."""

from __future__ import annotations

import getpass
import os
import platform
import re
import shlex
import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from reno_dspy.base.secrets import HIDDEN, redact

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
_SECRET_FLAG = re.compile(r"^--[\w.-]*(key|token|secret|password)(=|$)", re.IGNORECASE)


def about() -> dict[str, str]:
    """Tags for the origin of a run: command line, user, our version, git commit (in a checkout)."""
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
        shown.append(redact(word))
    return shlex.join(shown)


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
