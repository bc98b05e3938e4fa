"""Prompts as a command line names them: shipped, a file, or a version in MLflow's registry."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SCHEME = "prompts:/"


@contextmanager
def local_prompt(name: str | None) -> Iterator[str | None]:
    """`name`, or for `prompts:/NAME/VERSION` a file that holds the registered prompt meanwhile.

    Raises InputError when the registry has no such prompt.
    """
    if name is None or not name.startswith(SCHEME):
        yield name
        return
    from programs.prompts import Prompt, save
    from tracking.prompt_registry import load_prompt

    with tempfile.TemporaryDirectory(prefix="reno-prompt-") as folder:
        path = Path(folder) / "prompt.json"
        save(Prompt.model_validate(load_prompt(name)), path)
        yield str(path)
