"""ViT-tiny with patches of 16 (https://arxiv.org/abs/2012.12877), as timm spells it."""

from __future__ import annotations

from typing import Final

import numpy as np
import onnx

from benchmarks.architectures.layers import gelu, layer_norm, linear
from benchmarks.architectures.writer import GraphWriter

EPSILON: Final = 1e-6
TINY: Final = {"size": 32, "patch": 8, "layers": 2, "width": 24, "heads": 3, "classes": 10}


def build(
    size: int = 224, patch: int = 16, layers: int = 12, width: int = 192, heads: int = 3, classes: int = 1000
) -> onnx.ModelProto:
    """Takes `x` [1, 3, size, size], gives `logits` [1, classes]."""
    w = GraphWriter("vit_tiny", seed=16)
    x = w.input("x", [1, 3, size, size])
    weights = w.normal((width, 3, patch, patch), (3 * patch * patch) ** -0.5)
    square = [patch, patch]
    x = w.op("Conv", x, weights, w.normal((width,), 0.02), kernel_shape=square, strides=square)
    patches = (size // patch) ** 2
    x = w.op("Transpose", w.op("Reshape", x, w.ints(1, width, patches)), perm=[0, 2, 1])
    x = w.op("Concat", w.normal((1, 1, width), 0.5), x, axis=1)
    tokens = patches + 1
    x = w.op("Add", x, w.normal((1, tokens, width), 0.2))
    for _ in range(layers):
        inner = _attention(w, layer_norm(w, x, width, EPSILON), tokens, width, heads)
        x = w.op("Add", x, inner)
        inner = gelu(w, linear(w, layer_norm(w, x, width, EPSILON), width, 4 * width))
        x = w.op("Add", x, linear(w, inner, 4 * width, width))
    x = layer_norm(w, x, width, EPSILON)
    first = w.op("Gather", x, w.weight(np.asarray(0, np.int64)), axis=1)
    weights = w.normal((classes, width), width**-0.5)
    w.op("Gemm", first, weights, w.normal((classes,), 0.02), out="logits", transB=1)
    w.output("logits", [1, classes])
    return w.model()


def _attention(w: GraphWriter, x: str, tokens: int, width: int, heads: int) -> str:
    size = width // heads
    joined = w.op("Reshape", linear(w, x, width, 3 * width), w.ints(1, tokens, 3, heads, size))
    joined = w.op("Transpose", joined, perm=[2, 0, 3, 1, 4])
    query, key, value = (
        w.op("Gather", joined, w.weight(np.asarray(index, np.int64)), axis=0) for index in range(3)
    )
    scaled = w.op("Mul", query, w.scalar(size**-0.5))
    scores = w.op("MatMul", scaled, w.op("Transpose", key, perm=[0, 1, 3, 2]))
    merged = w.op("MatMul", w.op("Softmax", scores, axis=-1), value)
    merged = w.op("Reshape", w.op("Transpose", merged, perm=[0, 2, 1, 3]), w.ints(1, tokens, width))
    return linear(w, merged, width, width)
