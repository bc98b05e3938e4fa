"""Prompts as data: instructions and worked examples, in small readable files.

The shipped prompts lie beside this module (`zero-shot`, `two-shot`). A prompt is never a pickle,
and its digest names what was really asked, so runs and adapters can be traced back to it.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError, field_validator

from reno_dspy.base.config import Config
from reno_dspy.base.errors import InputError
from reno_dspy.base.files import digest, write_json

SHIPPED = Path(__file__).parent


class Demo(Config):
    """One worked example: a plain-text reference and its annotation."""

    reference: str
    annotation: str


class Prompt(Config):
    """A prompt: the system message and the worked examples, in order."""

    name: str
    instructions: str
    demos: tuple[Demo, ...] = ()

    @field_validator("instructions")
    @classmethod
    def _as_sent(cls, text: str) -> str:
        # A DSPy signature cleans its instructions like a docstring, each time it is copied: only a
        # text that this leaves alone is sent as it is stored.
        while (cleaned := inspect.cleandoc(text)) != text:
            text = cleaned
        return text

    @property
    def digest(self) -> str:
        """12 hex digits of the SHA-256 of instructions and examples; the name does not count."""
        content = self.model_dump(mode="json", exclude={"name"})
        text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return digest(text, 12)

    @property
    def text(self) -> str:
        """Instructions and worked examples as people read them."""
        demos = [f"Reference: {d.reference}\nAnnotation: {d.annotation}" for d in self.demos]
        return "\n\n".join([self.instructions, *demos]) + "\n"


def load(name_or_path: str | Path) -> Prompt:
    """A prompt from a JSON or YAML file, or a shipped one by its name.

    Raises InputError when there is none, or when the file does not hold one.
    """
    path = _find(str(name_or_path))
    try:
        text = path.read_text(encoding="utf-8")
        values: Any = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
        return Prompt.model_validate({"name": path.stem} | values)
    except OSError as error:
        raise InputError(f"Cannot read the prompt {path}: {error.strerror}.") from error
    except (ValueError, TypeError, yaml.YAMLError) as error:
        raise InputError(
            f"{path} is not a prompt file (`instructions`, and `demos` as a list of `reference` "
            f"and `annotation`): {_reason(error)}"
        ) from error


def save(prompt: Prompt, path: Path) -> None:
    """Write `prompt` as JSON, atomically; `load` reads it back."""
    write_json(path, prompt.model_dump(mode="json"))


def shipped() -> tuple[str, ...]:
    """The names of the prompts that ship."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.yaml")))


def _find(name_or_path: str) -> Path:
    for path in (Path(name_or_path), SHIPPED / f"{name_or_path}.yaml"):
        if path.is_file():
            return path
    raise InputError(
        f"No prompt {name_or_path!r}: neither a file nor one that ships ({', '.join(shipped())})."
    )


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return "; ".join(
            f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors()
        )
    return str(error)
