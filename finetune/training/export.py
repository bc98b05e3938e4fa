"""A trained encoder tagger as one ONNX file with 8-bit weights, for onnxruntime on a CPU.

The graph is written by hand from onnxruntime's fused operators (domain `com.microsoft`): an
exported trace would have to be matched against patterns to become the same. Matrices keep one scale
for each output, and their inputs are quantized as they come (`DynamicQuantizeMatMul`). Weights use
seven of their eight bits: the sum of two products then fits 16 bits, so that processors without
VNNI, which add in 16 bits, give the same result as those with it.
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
_FUSED = "com.microsoft"
_LARGEST = 63


@dataclass(frozen=True)
class Sizes:
    """What the graph needs to know of the encoder besides its weights."""

    layers: int
    heads: int
    epsilon: float


def export(weights: Weights, sizes: Sizes, file: Path) -> None:
    """Write the encoder and head in `weights` to `file`.

    Weights are named as in transformers' BertForTokenClassification. Inputs: `ids` (rows, length)
    int64, `mask` (rows, length) int32, 1 for a piece and 0 for padding, and `read` (n,) int64,
    places in the flattened (rows x length) pieces. Output: `logits` (n, labels) float32.
    """
    graph = _Graph(weights)
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

    def product(self, x: str, name: str, matrix: NDArray[np.float32]) -> str:
        """`x` times `matrix` (inputs, outputs), both in 8 bits."""
        scales = np.maximum(np.abs(matrix).max(axis=0), 1e-12) / _LARGEST
        rounded = np.rint(matrix / scales).astype(np.int8)
        return self.node(
            "DynamicQuantizeMatMul",
            x,
            self.constant(f"{name}.int8", rounded),
            self.constant(f"{name}.scale", scales.astype(np.float32)),
            domain=_FUSED,
        )


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
    return graph.node(
        "LayerNormalization",
        total,
        graph.weight("bert.embeddings.LayerNorm.weight"),
        graph.weight("bert.embeddings.LayerNorm.bias"),
        epsilon=sizes.epsilon,
    )


def _layer(graph: _Graph, name: str, x: str, sizes: Sizes) -> str:
    weights = graph.weights
    parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
    # One product for the three, since the input is then quantized once.
    qkv = graph.product(
        x, f"{name}.qkv", np.concatenate([weights[f"{p}.weight"].T for p in parts], 1)
    )
    thirds = [f"{name}.{part}" for part in "qkv"]
    graph.nodes.append(helper.make_node("Split", [qkv], thirds, axis=-1, num_outputs=3))
    bias = graph.constant(f"{name}.qkv.bias", np.concatenate([weights[f"{p}.bias"] for p in parts]))
    attended = graph.node(
        "MultiHeadAttention", *thirds, bias, "mask", domain=_FUSED, num_heads=sizes.heads
    )
    x = _added(graph, x, attended, f"{name}.attention.output", sizes)
    inner = graph.product(x, f"{name}.inner", weights[f"{name}.intermediate.dense.weight"].T)
    inner = graph.node(
        "BiasGelu", inner, graph.weight(f"{name}.intermediate.dense.bias"), domain=_FUSED
    )
    return _added(graph, x, inner, f"{name}.output", sizes)


def _added(graph: _Graph, x: str, y: str, name: str, sizes: Sizes) -> str:
    """`x` plus the product of `y` with the matrix of `name`, normalized."""
    product = graph.product(y, name, graph.weights[f"{name}.dense.weight"].T)
    return graph.node(
        "SkipLayerNormalization",
        product,
        x,
        graph.weight(f"{name}.LayerNorm.weight"),
        graph.weight(f"{name}.LayerNorm.bias"),
        graph.weight(f"{name}.dense.bias"),
        domain=_FUSED,
        epsilon=sizes.epsilon,
    )


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
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(_FUSED, 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=9, producer_name="reno-dspy")
