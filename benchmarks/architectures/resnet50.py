"""ResNet-50, stride in the 3x3 (https://arxiv.org/abs/1512.03385), with BatchNormalization kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import onnx

from benchmarks.architectures.layers import batch_norm, convolution
from benchmarks.architectures.writer import GraphWriter

EXPANSION: Final = 4
TINY: Final = {"size": 32, "width": 8, "depths": (1, 2), "classes": 10}


def build(
    size: int = 224, width: int = 64, depths: Sequence[int] = (3, 4, 6, 3), classes: int = 1000
) -> onnx.ModelProto:
    """Takes `x` [1, 3, size, size], gives `logits` [1, classes]."""
    w = GraphWriter("resnet50", seed=50)
    x = w.input("x", [1, 3, size, size])
    x = w.op("Relu", batch_norm(w, convolution(w, x, 3, width, 7, stride=2), width))
    x = w.op("MaxPool", x, ceil_mode=0, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    channels = width
    for stage, depth in enumerate(depths):
        for block in range(depth):
            stride = 2 if stage and not block else 1
            x = _bottleneck(w, x, channels, width << stage, stride)
            channels = EXPANSION * (width << stage)
    x = w.op("Flatten", w.op("GlobalAveragePool", x), axis=1)
    weights = w.normal((classes, channels), channels**-0.5)
    w.op("Gemm", x, weights, w.normal((classes,), 0.02), out="logits", transB=1)
    w.output("logits", [1, classes])
    return w.model()


def _bottleneck(w: GraphWriter, x: str, inputs: int, width: int, stride: int) -> str:
    outputs = EXPANSION * width
    y = w.op("Relu", batch_norm(w, convolution(w, x, inputs, width, 1), width))
    y = w.op("Relu", batch_norm(w, convolution(w, y, width, width, 3, stride), width))
    y = batch_norm(w, convolution(w, y, width, outputs, 1), outputs, scale=0.3)
    if stride != 1 or inputs != outputs:
        x = batch_norm(w, convolution(w, x, inputs, outputs, 1, stride), outputs)
    return w.op("Relu", w.op("Add", y, x))
