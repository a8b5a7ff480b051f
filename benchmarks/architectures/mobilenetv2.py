"""MobileNetV2 at width 1.0 (https://arxiv.org/abs/1801.04381) with BatchNormalization kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import onnx

from benchmarks.architectures.layers import batch_norm, convolution
from benchmarks.architectures.writer import GraphWriter

BLOCKS: Final = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""Expansion, channels, repetitions, stride of the first (table 2 of the paper)."""

TINY: Final = {
    "size": 32, "stem": 8, "blocks": ((1, 8, 1, 1), (6, 12, 2, 2)), "last": 24, "classes": 10,
}  # fmt: skip


def build(
    size: int = 224,
    stem: int = 32,
    blocks: Sequence[tuple[int, int, int, int]] = BLOCKS,
    last: int = 1280,
    classes: int = 1000,
) -> onnx.ModelProto:
    """Takes `x` [1, 3, size, size], gives `logits` [1, classes]."""
    w = GraphWriter("mobilenetv2", seed=2)
    x = w.input("x", [1, 3, size, size])
    x = _relu6(w, batch_norm(w, convolution(w, x, 3, stem, 3, stride=2), stem))
    channels = stem
    for expansion, outputs, repetitions, first_stride in blocks:
        for repetition in range(repetitions):
            stride = 1 if repetition else first_stride
            x = _inverted_bottleneck(w, x, channels, outputs, expansion, stride)
            channels = outputs
    x = _relu6(w, batch_norm(w, convolution(w, x, channels, last, 1), last))
    x = w.op("Flatten", w.op("GlobalAveragePool", x), axis=1)
    weights = w.normal((classes, last), last**-0.5)
    w.op("Gemm", x, weights, w.normal((classes,), 0.02), out="logits", transB=1)
    w.output("logits", [1, classes])
    return w.model()


def _relu6(w: GraphWriter, x: str) -> str:
    return w.op("Clip", x, w.scalar(0.0), w.scalar(6.0))


def _inverted_bottleneck(
    w: GraphWriter, x: str, inputs: int, outputs: int, expansion: int, stride: int
) -> str:
    inner, y = inputs * expansion, x
    if expansion != 1:
        y = _relu6(w, batch_norm(w, convolution(w, y, inputs, inner, 1), inner))
    y = _relu6(w, batch_norm(w, convolution(w, y, inner, inner, 3, stride, group=inner), inner))
    y = batch_norm(w, convolution(w, y, inner, outputs, 1), outputs, scale=0.7)
    return w.op("Add", x, y) if stride == 1 and inputs == outputs else y
