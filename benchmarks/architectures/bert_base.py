"""BERT-base, uncased (https://arxiv.org/abs/1810.04805): embeddings, 12 encoder layers, pooler."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import onnx

from benchmarks.architectures.layers import gelu, layer_norm, linear
from benchmarks.architectures.writer import GraphWriter

EPSILON: Final = 1e-12
MASKED: Final = float(np.finfo(np.float32).min)
TINY: Final = {"sequence": 9, "layers": 2, "width": 32, "heads": 2, "vocabulary": 50, "positions": 16}


def build(
    sequence: int = 128,
    layers: int = 12,
    width: int = 768,
    heads: int = 12,
    vocabulary: int = 30522,
    positions: int = 512,
) -> onnx.ModelProto:
    """Takes `input_ids`, `attention_mask`, `token_type_ids` [1, sequence], gives hidden states and pooled."""
    w = GraphWriter("bert_base", seed=1)
    ids, mask, types = (
        w.input(name, [1, sequence], np.int64) for name in ("input_ids", "attention_mask", "token_type_ids")
    )
    x = w.op("Gather", w.normal((vocabulary, width), 0.5), ids, axis=0)
    x = w.op("Add", x, w.op("Gather", w.normal((2, width), 0.2), types, axis=0))
    places = w.weight(np.arange(sequence, dtype=np.int64)[None])
    x = w.op("Add", x, w.op("Gather", w.normal((positions, width), 0.2), places, axis=0))
    x = layer_norm(w, x, width, EPSILON)
    bias = _mask_bias(w, mask)
    for _ in range(layers):
        attended = _attention(w, x, bias, sequence, width, heads)
        x = layer_norm(w, w.op("Add", linear(w, attended, width, width), x), width, EPSILON)
        hidden = gelu(w, linear(w, x, width, 4 * width))
        x = layer_norm(w, w.op("Add", linear(w, hidden, 4 * width, width), x), width, EPSILON)
    w.op("Identity", x, out="last_hidden_state")
    w.output("last_hidden_state", [1, sequence, width])
    first = w.op("Gather", x, w.weight(np.asarray(0, np.int64)), axis=1)
    weights = w.normal((width, width), width**-0.5)
    w.op("Tanh", w.op("Gemm", first, weights, w.normal((width,), 0.02), transB=1), out="pooler_output")
    w.output("pooler_output", [1, width])
    return w.model()


def _mask_bias(w: GraphWriter, mask: str) -> str:
    """0 where a token is seen, the lowest number where not, as [1, 1, 1, sequence]."""
    seen = w.op("Unsqueeze", w.op("Unsqueeze", mask, w.ints(1)), w.ints(2))
    hidden = w.op("Sub", w.scalar(1.0), w.op("Cast", seen, to=onnx.TensorProto.FLOAT))
    return w.op("Mul", hidden, w.scalar(MASKED))


def _attention(w: GraphWriter, x: str, bias: str, sequence: int, width: int, heads: int) -> str:
    size = width // heads

    def split(perm: list[int]) -> str:
        value = w.op("Reshape", linear(w, x, width, width), w.ints(1, sequence, heads, size))
        return w.op("Transpose", value, perm=perm)

    query, key, value = split([0, 2, 1, 3]), split([0, 2, 3, 1]), split([0, 2, 1, 3])
    scores = w.op("Div", w.op("MatMul", query, key), w.scalar(math.sqrt(size)))
    weights = w.op("Softmax", w.op("Add", scores, bias), axis=-1)
    merged = w.op("Transpose", w.op("MatMul", weights, value), perm=[0, 2, 1, 3])
    return w.op("Reshape", merged, w.ints(1, sequence, width))
