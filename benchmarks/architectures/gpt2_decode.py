"""GPT-2 small (124M): one decoding step on a cache of keys and values of any length."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import onnx

from benchmarks.architectures.layers import layer_norm
from benchmarks.architectures.writer import GraphWriter

EPSILON: Final = 1e-5
MASKED: Final = float(np.finfo(np.float32).min)
PAST: Final = "past_sequence_length"
TOTAL: Final = "past_sequence_length + 1"
TINY: Final = {"layers": 2, "width": 32, "heads": 2, "vocabulary": 50, "positions": 600}


def build(
    layers: int = 12, width: int = 768, heads: int = 12, vocabulary: int = 50257, positions: int = 1024
) -> onnx.ModelProto:
    """Takes one token, the mask of all tokens, and `past_key_values.<layer>.{key,value}`.

    These are [1, heads, past_sequence_length, width / heads]. Gives `logits` [1, 1, vocabulary] and the
    caches with this token, `present.<layer>.{key,value}`.
    """
    w = GraphWriter("gpt2_decode", seed=2019)
    size = width // heads
    ids = w.input("input_ids", [1, 1], np.int64)
    mask = w.input("attention_mask", [1, TOTAL], np.int64)
    caches = [
        [w.input(f"past_key_values.{layer}.{part}", [1, heads, PAST, size]) for part in ("key", "value")]
        for layer in range(layers)
    ]
    x = w.op(
        "Add", w.op("Gather", w.normal((vocabulary, width), 0.2), ids), _position(w, mask, positions, width)
    )
    bias = _mask_bias(w, mask)
    causal = w.weight(np.tril(np.ones((1, 1, positions, positions), bool)))
    for layer in range(layers):
        inner = layer_norm(w, x, width, EPSILON)
        x = w.op("Add", _attention(w, inner, caches[layer], bias, causal, layer, width, heads), x)
        inner = layer_norm(w, x, width, EPSILON)
        inner = _gelu_tanh(w, _conv1d(w, inner, width, 4 * width))
        x = w.op("Add", x, _conv1d(w, inner, 4 * width, width))
    x = layer_norm(w, x, width, EPSILON)
    w.op("MatMul", x, w.normal((width, vocabulary), width**-0.5), out="logits")
    w.output("logits", [1, 1, vocabulary])
    for layer in range(layers):
        for part in ("key", "value"):
            w.output(f"present.{layer}.{part}", [1, heads, TOTAL, size])
    return w.model()


def _position(w: GraphWriter, mask: str, positions: int, width: int) -> str:
    """The embedding of the place of the last token: how many tokens are seen before it."""
    places = w.op("Sub", w.op("CumSum", mask, w.weight(np.asarray(1, np.int64))), w.ints(1))
    last = w.op("Slice", places, w.ints(-1), w.ints(np.iinfo(np.int64).max), w.ints(1))
    return w.op("Gather", w.normal((positions, width), 0.05), last)


def _mask_bias(w: GraphWriter, mask: str) -> str:
    seen = w.op("Unsqueeze", mask, w.ints(1, 2))
    hidden = w.op("Sub", w.scalar(1.0), w.op("Cast", seen, to=onnx.TensorProto.FLOAT))
    return w.op("Mul", hidden, w.scalar(MASKED))


def _conv1d(w: GraphWriter, x: str, inputs: int, outputs: int) -> str:
    """addmm on the flattened tokens, between two Reshapes."""
    flat = w.op("Reshape", x, w.ints(-1, inputs))
    product = w.op("Gemm", flat, w.normal((inputs, outputs), inputs**-0.5), w.normal((outputs,), 0.02))
    return w.op("Reshape", product, w.ints(1, 1, outputs))


def _gelu_tanh(w: GraphWriter, x: str) -> str:
    """0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))."""
    cubed = w.op("Mul", w.op("Pow", x, w.scalar(3.0)), w.scalar(0.044715))
    inner = w.op("Tanh", w.op("Mul", w.op("Add", x, cubed), w.scalar(math.sqrt(2 / math.pi))))
    return w.op("Mul", w.op("Mul", x, w.scalar(0.5)), w.op("Add", inner, w.scalar(1.0)))


def _attention(
    w: GraphWriter, x: str, cache: list[str], bias: str, causal: str, layer: int, width: int, heads: int
) -> str:
    size = width // heads
    parts = w.ops("Split", _conv1d(w, x, width, 3 * width), w.ints(width, width, width), outs=3, axis=2)
    query, key, value = (
        w.op("Transpose", w.op("Reshape", part, w.ints(1, 1, heads, size)), perm=[0, 2, 1, 3])
        for part in parts
    )
    key = w.op("Concat", cache[0], key, out=f"present.{layer}.key", axis=2)
    value = w.op("Concat", cache[1], value, out=f"present.{layer}.value", axis=2)
    scores = w.op("MatMul", query, w.op("Transpose", key, perm=[0, 1, 3, 2]))
    scores = w.op("Div", scores, w.scalar(math.sqrt(size)))
    scores = w.op("Where", _visible(w, query, key, causal), scores, w.scalar(MASKED))
    weights = w.op("Softmax", w.op("Add", scores, bias), axis=-1)
    merged = w.op("Transpose", w.op("MatMul", weights, value), perm=[0, 2, 1, 3])
    return _conv1d(w, w.op("Reshape", merged, w.ints(1, 1, width)), width, width)


def _visible(w: GraphWriter, query: str, key: str, causal: str) -> str:
    """Rows [keys - queries, keys) and columns [0, keys) of the causal mask."""
    second = w.weight(np.asarray(2, np.int64))
    queries = w.op("Unsqueeze", w.op("Gather", w.op("Shape", query), second), w.ints(0))
    keys = w.op("Unsqueeze", w.op("Gather", w.op("Shape", key), second), w.ints(0))
    rows = w.op("Slice", causal, w.op("Sub", keys, queries), keys, w.ints(2))
    return w.op("Slice", rows, w.ints(0), keys, w.ints(3))
