"""
The MiniLM sentence encoder as an ONNX graph, made from its weights alone.

Six BERT layers, the mean over the word pieces that are not padding, unit length. Query, key and
value share one multiplication; the scale of the scores is folded into the query's weights.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

DIMENSION = 384
LAYERS = 6
HEADS = 12
HEAD_SIZE = DIMENSION // HEADS
EPSILON = 1e-12
OPSET = 20
MASKED = -1e9
"""What is added to the score of a padding piece: no weight is left after the softmax."""

Weights = Mapping[str, NDArray[np.float32]]


class _Graph:
    """Nodes and constants in the order in which they are added."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(value, name)
        return name

    def integers(self, *values: int) -> str:
        return self.constant("i" + "_".join(map(str, values)), np.array(values, np.int64))

    def add(self, operation: str, *inputs: str, **attributes: Any) -> str:
        output = f"{operation}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operation, list(inputs), [output], **attributes))
        return output

    def weight(self, name: str) -> str:
        return self.constant(name, self.weights[name])

    def dense(self, inputs: str, name: str) -> str:
        matrix = self.constant(f"{name}.matrix", self.weights[f"{name}.weight"].T)
        return self.add("Add", self.add("MatMul", inputs, matrix), self.weight(f"{name}.bias"))

    def norm(self, inputs: str, name: str) -> str:
        scale, shift = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.add("LayerNormalization", inputs, scale, shift, axis=-1, epsilon=EPSILON)


def build(weights: Weights) -> bytes:
    """
    Return the serialised graph: (ids, mask), both int64 (texts, pieces), to vectors.

    The same weights give the same bytes.
    """
    graph = _Graph(weights)
    hidden = _embed_pieces(graph)
    mask = graph.add("Cast", "mask", to=onnx.TensorProto.FLOAT)
    bias = _attention_bias(graph, mask)
    for layer in range(LAYERS):
        hidden = _layer(graph, hidden, bias, f"encoder.layer.{layer}")
    pooled = _pool(graph, hidden, mask)
    graph.nodes.append(helper.make_node("LpNormalization", [pooled], ["vectors"], axis=-1, p=2))
    return _serialise(graph)


def _embed_pieces(graph: _Graph) -> str:
    # Every piece is of the first segment, so that segment's vector joins the positions'.
    positions = graph.constant(
        "positions",
        graph.weights["embeddings.position_embeddings.weight"]
        + graph.weights["embeddings.token_type_embeddings.weight"][0],
    )
    words = graph.add("Gather", graph.weight("embeddings.word_embeddings.weight"), "ids", axis=0)
    length = graph.add("Shape", "ids", start=1, end=2)
    here = graph.add("Slice", positions, graph.integers(0), length, graph.integers(0))
    return graph.norm(graph.add("Add", words, here), "embeddings.LayerNorm")


def _attention_bias(graph: _Graph, mask: str) -> str:
    one = graph.constant("one", np.array(1, np.float32))
    masked = graph.constant("masked", np.array(MASKED, np.float32))
    padding = graph.add("Mul", graph.add("Sub", one, mask), masked)
    return graph.add("Unsqueeze", padding, graph.integers(1, 2))


def _layer(graph: _Graph, hidden: str, bias: str, name: str) -> str:
    mixed = graph.dense(_attend(graph, hidden, bias, name), f"{name}.attention.output.dense")
    attended = graph.norm(graph.add("Add", mixed, hidden), f"{name}.attention.output.LayerNorm")
    wide = graph.add("Gelu", graph.dense(attended, f"{name}.intermediate.dense"))
    narrow = graph.dense(wide, f"{name}.output.dense")
    return graph.norm(graph.add("Add", narrow, attended), f"{name}.output.LayerNorm")


def _attend(graph: _Graph, hidden: str, bias: str, name: str) -> str:
    matrix, shift = _query_key_value(graph.weights, f"{name}.attention.self")
    joint = graph.add(
        "Add",
        graph.add("MatMul", hidden, graph.constant(f"{name}.qkv.matrix", matrix)),
        graph.constant(f"{name}.qkv.bias", shift),
    )
    heads = graph.add("Reshape", joint, graph.integers(0, 0, 3, HEADS, HEAD_SIZE))
    # (texts, pieces, 3, heads, size) to three of (texts, heads, pieces, size); keys lie across.
    query, key, value = (
        graph.add("Gather", heads, graph.constant(f"part_{part}", np.array(part)), axis=2)
        for part in range(3)
    )
    query = graph.add("Transpose", query, perm=[0, 2, 1, 3])
    key = graph.add("Transpose", key, perm=[0, 2, 3, 1])
    value = graph.add("Transpose", value, perm=[0, 2, 1, 3])
    scores = graph.add("Add", graph.add("MatMul", query, key), bias)
    seen = graph.add("MatMul", graph.add("Softmax", scores, axis=-1), value)
    together = graph.add("Transpose", seen, perm=[0, 2, 1, 3])
    return graph.add("Reshape", together, graph.integers(0, 0, DIMENSION))


def _query_key_value(
    weights: Weights, name: str
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    scale = np.float32(HEAD_SIZE**-0.5)
    parts = ("query", "key", "value")
    matrices = [weights[f"{name}.{part}.weight"].T for part in parts]
    shifts = [weights[f"{name}.{part}.bias"] for part in parts]
    matrices[0], shifts[0] = matrices[0] * scale, shifts[0] * scale
    return np.concatenate(matrices, axis=1), np.concatenate(shifts)


def _pool(graph: _Graph, hidden: str, mask: str) -> str:
    # The mean up to its length, which the normalisation that follows takes away.
    column = graph.add("Unsqueeze", mask, graph.integers(1))
    total = graph.add("MatMul", column, hidden)
    return graph.add("Squeeze", total, graph.integers(1))


def _serialise(graph: _Graph) -> bytes:
    shape = ["texts", "pieces"]
    inputs = [
        helper.make_tensor_value_info(name, onnx.TensorProto.INT64, shape)
        for name in ("ids", "mask")
    ]
    vectors = helper.make_tensor_value_info("vectors", onnx.TensorProto.FLOAT, ["texts", DIMENSION])
    model = helper.make_model(
        helper.make_graph(graph.nodes, "minilm", inputs, [vectors], list(graph.constants.values())),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=10,
    )
    return bytes(model.SerializeToString(deterministic=True))
