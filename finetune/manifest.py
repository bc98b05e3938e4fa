"""The manifest of an adapter directory, and checks of the adapter against it and a base.

`DIR/adapter/` is whole in itself and can be copied: `adapter_model.safetensors` and
`adapter_config.json` (PEFT), `manifest.json` (this module), `prompt.json` (what it was trained to be
asked), `README.md` (the model card).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError, safe_open

from finetune.base import Base
from reno_dspy.base.errors import InputError
from reno_dspy.base.files import sha256_file, write_json

FILE = "manifest.json"
WEIGHTS = "adapter_model.safetensors"
PEFT_CONFIG = "adapter_config.json"
PROMPT = "prompt.json"


class Manifest(BaseModel):
    """Where an adapter comes from; `digest` is the SHA-256 of its weights file.

    A language model has a prompt, a tagger `labels`, in the order of its head's outputs.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    base: str
    base_revision: str
    rank: int
    digest: str
    data: list[dict[str, Any]]
    prompt: str | None
    prompt_digest: str | None
    recipe: dict[str, Any]
    results: dict[str, Any]
    versions: dict[str, str]
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Adapter:
    """A checked adapter on disk: the PEFT directory and its manifest."""

    path: Path
    manifest: Manifest

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that name these weights."""
        return self.manifest.digest[:12]

    def name(self) -> str:
        """The name under which it is served: base + digest."""
        return f"{self.manifest.base}+{self.digest}"


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write `manifest` into the adapter directory `folder`."""
    write_json(folder / FILE, manifest.model_dump(mode="json"))


def load_adapter(path: Path, base: Base | None = None) -> Adapter:
    """The adapter in `path` (or in `path/adapter`), checked against its manifest and `base`.

    Raises InputError that names what does not fit: base, rank or digest.
    """
    folder = _folder(path)
    try:
        values = json.loads((folder / FILE).read_text(encoding="utf-8"))
        adapter = Adapter(folder, Manifest.model_validate(values))
    except (OSError, ValueError, ValidationError) as error:
        raise InputError(f"{folder / FILE} is not an adapter's manifest: {error}") from error
    _check_digest(adapter)
    _check_rank(adapter)
    if base:
        _check_base(adapter, base)
    return adapter


def _folder(path: Path) -> Path:
    for folder in (path, path / "adapter"):
        if (folder / WEIGHTS).is_file() and (folder / FILE).is_file():
            return folder
    raise InputError(
        f"No adapter in {path}: it needs {WEIGHTS} and {FILE}, as `reno finetune` writes them "
        "(an unfinished run has neither: run the same command again to resume it)."
    )


def _check_digest(adapter: Adapter) -> None:
    found = sha256_file(adapter.path / WEIGHTS)
    if found != adapter.manifest.digest:
        raise InputError(
            f"Digest mismatch: {adapter.path / WEIGHTS} has SHA-256 {found[:12]}..., its manifest "
            f"says {adapter.digest}... The file was changed or cut after training; copy it again."
        )


def _check_rank(adapter: Adapter) -> None:
    config = json.loads((adapter.path / PEFT_CONFIG).read_text(encoding="utf-8"))
    try:
        with safe_open(adapter.path / WEIGHTS, framework="numpy") as weights:
            names = [name for name in weights.keys() if ".lora_A." in name]  # noqa: SIM118
            ranks = {weights.get_slice(name).get_shape()[0] for name in names}
    except SafetensorError as error:
        raise InputError(f"{adapter.path / WEIGHTS} is not a safetensors file: {error}") from error
    said = {config.get("r"), adapter.manifest.rank}
    if ranks != said:
        raise InputError(
            f"Rank mismatch in {adapter.path}: the weights have rank {_list(ranks)}, "
            f"{PEFT_CONFIG} says {config.get('r')}, {FILE} says {adapter.manifest.rank}."
        )


def _check_base(adapter: Adapter, base: Base) -> None:
    manifest = adapter.manifest
    if manifest.base_revision != base.revision:
        raise InputError(
            f"Base mismatch: {adapter.path} was trained on {manifest.base} "
            f"({manifest.base_revision[:12]}), not on {base.name} ({base.revision[:12]}). "
            f"Serve it on the base {manifest.base}."
        )


def _list(ranks: set[int]) -> str:
    return ", ".join(map(str, sorted(ranks))) or "none (no LoRA weights)"
