"""A trained encoder tagger as one ONNX file with 8-bit weights, for onnxruntime on a CPU.

The graph is written by hand from onnxruntime's fused operators (domain `com.microsoft`): an
exported trace would have to be matched against patterns to become the same. Matrices keep one scale
for each output. Their inputs are quantized by ranges that were measured beforehand
(`finetune.training.ranges`): with ranges of the batch at hand, which is onnxruntime's default, a
reference's labels would depend on those beside it. Weights use seven of their eight bits: the sum
of two products then fits 16 bits, so that processors without VNNI, which add in 16 bits, give the
same result as those with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Weights = Mapping[str, NDArray[np.float32]]
# The least and the greatest value of each input of each linear layer, by the layer's name.
Ranges = Mapping[str, tuple[NDArray[np.float32], NDArray[np.float32]]]
_OWN = "com.microsoft"
_LARGEST = 63
# Of 0.4 to 1, 0.65 to 0.85 changed the fewest labels.
_MOVED = 0.7


@dataclass(frozen=True)
class Sizes:
    """Sizes of the encoder, which the graph needs besides the weights."""

    layers: int
    heads: int
    epsilon: float


def export(weights: Weights, ranges: Ranges, sizes: Sizes, file: Path) -> None:
    """Write the encoder and head in `weights` to `file`.

    Weights are named as in transformers' BertForTokenClassification; `ranges` are of the inputs of
    its linear layers, by name. Inputs: `ids` (rows, length)
    int64, `mask` (rows, length) int32, 1 for a piece and 0 for padding, and `read` (n,) int64,
    places in the flattened (rows x length) pieces. Output: `logits` (n, labels) float32.
    """
    graph = _Graph(weights, ranges)
    hidden = _embed(graph, sizes)
    for layer in range(sizes.layers):
        hidden = _layer(graph, f"bert.encoder.layer.{layer}", hidden, sizes)
    width = weights["bert.embeddings.LayerNorm.weight"].shape[0]
    flat = graph.node("Reshape", hidden, graph.constant("flat", np.array([-1, width])))
    chosen = graph.node("Gather", flat, "read")
    head = graph.constant("head", weights["classifier.weight"].T)
    scores = graph.node("MatMul", chosen, head)
    graph.node("Add", scores, graph.weight("classifier.bias"), output="logits")
    onnx.save_model(_model(graph, len(weights["classifier.bias"])), str(file))


@dataclass
class _Graph:
    """Nodes and constants in the order they were added."""

    weights: Weights
    ranges: Ranges
    nodes: list[Any] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)

    def constant(self, name: str, value: NDArray[Any]) -> str:
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def weight(self, name: str) -> str:
        return self.constant(name, self.weights[name])

    def node(
        self, kind: str, *inputs: str, output: str = "", domain: str = "", **options: Any
    ) -> str:
        output = output or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **options))
        return output

    def product(
        self, x: str, layer: str, matrix: NDArray[np.float32], bias: NDArray[np.float32]
    ) -> str:
        """`x`, the input of the linear `layer`, times `matrix` (inputs, outputs), plus `bias`.

        Both factors are rounded to 8 bits.
        """
        low, high = self.ranges[layer]
        even = _evening(np.maximum(-low, high), np.abs(matrix).max(axis=1))
        x = self.node("Mul", x, self.constant(f"{layer}.even", 1 / even))
        matrix = matrix * even[:, None]
        least, greatest = float((low / even).min()), float((high / even).max())
        step = max(greatest - least, 1e-6) / 255
        scale = self.constant(f"{layer}.input.scale", np.array(step, np.float32))
        middle = np.array(round(-least / step), np.uint8)
        zero = self.constant(f"{layer}.input.zero", middle)
        scales = np.maximum(np.abs(matrix).max(axis=0), 1e-12) / _LARGEST
        rounded = np.rint(matrix / scales).astype(np.int8)
        return self.node(
            "MatMulIntegerToFloat",
            self.node("QuantizeLinear", x, scale, zero),
            self.constant(f"{layer}.int8", rounded),
            scale,
            self.constant(f"{layer}.scale", scales.astype(np.float32)),
            zero,
            "",
            self.constant(f"{layer}.bias", bias),
            domain=_OWN,
        )

    def norm(self, x: str, name: str, sizes: Sizes) -> str:
        """`x`, normalized over its last axis."""
        weight, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.node("LayerNormalization", x, weight, bias, epsilon=sizes.epsilon)


def _evening(inputs: NDArray[np.float32], weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """A divisor for each input of a product, by which the rows of its matrix are multiplied.

    A few inputs of an encoder's layers are a hundred times as large as the others, and would leave
    the others a few steps of the 255. Most of the difference is moved into the matrix (SmoothQuant,
    Xiao et al. 2023). `inputs` and `weights` are the largest absolute values of each input and row.
    """
    found = np.maximum(inputs, 1e-4) ** _MOVED / np.maximum(weights, 1e-6) ** (1 - _MOVED)
    even: NDArray[np.float32] = (found / np.exp(np.log(found).mean())).astype(np.float32)
    return even


def _embed(graph: _Graph, sizes: Sizes) -> str:
    """A piece's embedding (8 bits, with a scale for each) plus its place's, normalized."""
    table = graph.weights["bert.embeddings.word_embeddings.weight"]
    scales = np.maximum(np.abs(table).max(axis=1, keepdims=True), 1e-12) / 127
    rounded = graph.constant("pieces.int8", np.rint(table / scales).astype(np.int8))
    rows = graph.node("Cast", graph.node("Gather", rounded, "ids"), to=TensorProto.FLOAT)
    scale = graph.node("Gather", graph.constant("pieces.scale", scales.astype(np.float32)), "ids")
    # All pieces are of token type 0, so that its embedding is part of every place's.
    places = (
        graph.weights["bert.embeddings.position_embeddings.weight"]
        + (graph.weights["bert.embeddings.token_type_embeddings.weight"][0])
    )
    length = graph.node("Gather", graph.node("Shape", "ids"), graph.constant("one", np.array([1])))
    upto = graph.node(
        "Slice", graph.constant("places", places), graph.constant("zero", np.array([0])), length
    )
    total = graph.node("Add", graph.node("Mul", rows, scale), upto)
    return graph.norm(total, "bert.embeddings.LayerNorm", sizes)


def _layer(graph: _Graph, name: str, x: str, sizes: Sizes) -> str:
    parts = [_dense(graph, f"{name}.attention.self.{part}") for part in ("query", "key", "value")]
    # One product for the three, since the input is then quantized once.
    matrix, bias = (np.concatenate([part[i] for part in parts], axis=-1) for i in (0, 1))
    qkv = graph.product(x, f"{name}.attention.self.query", matrix, bias)
    thirds = [f"{name}.{part}" for part in "qkv"]
    graph.nodes.append(helper.make_node("Split", [qkv], thirds, axis=-1, num_outputs=3))
    attended = graph.node(
        "MultiHeadAttention", *thirds, "", "mask", domain=_OWN, num_heads=sizes.heads
    )
    x = _added(graph, x, attended, f"{name}.attention.output", sizes)
    wide = f"{name}.intermediate.dense"
    inner = graph.product(x, wide, *_dense(graph, wide))
    return _added(graph, x, graph.node("Gelu", inner), f"{name}.output", sizes)


def _added(graph: _Graph, x: str, y: str, name: str, sizes: Sizes) -> str:
    """`x` plus the product of `y` with the matrix of `name`, normalized.

    onnxruntime has one operator for the sum and the norm, which takes six times as long on a CPU.
    """
    layer = f"{name}.dense"
    product = graph.product(y, layer, *_dense(graph, layer))
    return graph.norm(graph.node("Add", product, x), f"{name}.LayerNorm", sizes)


def _dense(graph: _Graph, name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Matrix (inputs, outputs) and bias of a linear layer."""
    return graph.weights[f"{name}.weight"].T, graph.weights[f"{name}.bias"]


def _model(graph: _Graph, labels: int) -> Any:
    values = {
        "ids": (TensorProto.INT64, ["rows", "length"]),
        "mask": (TensorProto.INT32, ["rows", "length"]),
        "read": (TensorProto.INT64, ["n"]),
    }
    inputs: Sequence[Any] = [helper.make_tensor_value_info(k, *v) for k, v in values.items()]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", labels])
    made = helper.make_graph(
        graph.nodes, "tagger", inputs, [output], list(graph.constants.values())
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(_OWN, 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=9, producer_name="reno-dspy")
