"""An exported encoder tagger as a model again, to train on: what `finetune.training.export` wrote, undone.

The weights are those of the file, rounded to 7 bits: all there is of a tagger that was installed with this
package, or copied without its run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from transformers import BertConfig, BertForTokenClassification

Arrays = dict[str, NDArray[Any]]
_ROUNDED = ".int8"
_QUERY = ".query"


def restored(file: Path, dropout: float) -> Any:
    """The encoder with its head in `file`, as a BertForTokenClassification in float32."""
    graph = onnx.load(file).graph
    constants = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    weights = _weights(constants)
    model = BertForTokenClassification(_config(graph, weights, dropout))
    tensors = {name: torch.tensor(np.ascontiguousarray(one)) for name, one in weights.items()}
    model.load_state_dict(tensors)
    return model


def _weights(constants: Arrays) -> Arrays:
    """By their names in transformers' BertForTokenClassification."""
    places = constants["places"]
    embeddings = "bert.embeddings"
    weights = {
        f"{embeddings}.word_embeddings.weight": _exact(constants, "pieces"),
        # The export added the one type that there is to every place.
        f"{embeddings}.position_embeddings.weight": places,
        f"{embeddings}.token_type_embeddings.weight": np.zeros((2, places.shape[1]), np.float32),
        "classifier.weight": constants["head"].T,
        "classifier.bias": constants["classifier.bias"],
    }
    weights |= {name: one for name, one in constants.items() if ".LayerNorm." in name}
    for name in constants:
        if name.startswith("bert.") and name.endswith(_ROUNDED):
            weights |= _linear(constants, name.removesuffix(_ROUNDED))
    return weights


def _linear(constants: Arrays, layer: str) -> Arrays:
    """Weight and bias of a linear layer; query, key and value were exported as one."""
    matrix, bias = _exact(constants, layer), constants[f"{layer}.bias"]
    # The export moved scales from the inputs into the matrix.
    matrix = (matrix * constants[f"{layer}.even"][:, None]).T
    if not layer.endswith(_QUERY):
        return {f"{layer}.weight": matrix, f"{layer}.bias": bias}
    parts = [f"{layer.removesuffix(_QUERY)}.{part}" for part in ("query", "key", "value")]
    thirds = zip(parts, np.split(matrix, 3), np.split(bias, 3), strict=True)
    return {
        f"{part}.{name}": value
        for part, weight, shift in thirds
        for name, value in (("weight", weight), ("bias", shift))
    }


def _exact(constants: Arrays, name: str) -> NDArray[Any]:
    return constants[f"{name}{_ROUNDED}"].astype(np.float32) * constants[f"{name}.scale"]


def _config(graph: Any, weights: Arrays, dropout: float) -> BertConfig:
    pieces, width = weights["bert.embeddings.word_embeddings.weight"].shape
    options = {
        (node.op_type, one.name): onnx.helper.get_attribute_value(one)
        for node in graph.node
        for one in node.attribute
    }
    return BertConfig(
        vocab_size=pieces,
        hidden_size=width,
        num_hidden_layers=sum(node.op_type == "MultiHeadAttention" for node in graph.node),
        num_attention_heads=options["MultiHeadAttention", "num_heads"],
        intermediate_size=len(weights["bert.encoder.layer.0.intermediate.dense.bias"]),
        max_position_embeddings=len(weights["bert.embeddings.position_embeddings.weight"]),
        layer_norm_eps=options["LayerNormalization", "epsilon"],
        num_labels=len(weights["classifier.bias"]),
        pad_token_id=1,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=0.0,
        classifier_dropout=0.0,
    )
