"""A tagger's model directory: what it holds, and whether it is whole."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from reno_dspy.base.errors import InputError

MODEL, TOKENIZER, MANIFEST = "model.onnx", "tokenizer.json", "manifest.json"


class TaggerManifest(BaseModel):
    """Where a tagger comes from. `digest` is the SHA-256 of its ONNX file.

    `labels` are the network's outputs in order, `longest` the most pieces that it reads at once.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    base: str
    base_revision: str
    digest: str
    labels: tuple[str, ...]
    longest: int
    data: list[dict[str, Any]]
    recipe: dict[str, Any]
    results: dict[str, Any]
    versions: dict[str, str]


@dataclass(frozen=True)
class TaggerModel:
    """A model directory that was checked against its manifest."""

    path: Path
    manifest: TaggerManifest

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that name these weights."""
        return self.manifest.digest[:12]

    def name(self) -> str:
        """The name to show: the tagger's and the digest."""
        return f"{self.manifest.name}+{self.digest}"


def load_tagger(path: Path) -> TaggerModel:
    """The model in `path` (or in `path/model`). Raises InputError when it is missing or damaged."""
    folder = next((f for f in (path, path / "model") if (f / MODEL).is_file()), None)
    if folder is None:
        raise InputError(
            f"No tagger in {path}: it needs {MODEL}, {TOKENIZER} and {MANIFEST}, as `reno finetune tagger` "
            "writes them (run the same command again to resume an unfinished run)."
        )
    try:
        text = (folder / MANIFEST).read_text(encoding="utf-8")
        manifest = TaggerManifest.model_validate_json(text)
    except (OSError, ValidationError) as error:
        raise InputError(f"{folder / MANIFEST} is not a tagger's manifest: {error}") from error
    found = hashlib.sha256((folder / MODEL).read_bytes()).hexdigest()
    if found != manifest.digest:
        raise InputError(
            f"Digest mismatch: {folder / MODEL} has SHA-256 {found[:12]}..., its manifest says "
            f"{manifest.digest[:12]}... The file was changed or cut after training; copy it again."
        )
    return TaggerModel(folder, manifest)
