"""How do exporters spell the layers that several architectures share?"""

from __future__ import annotations

import math

from benchmarks.architectures.writer import GraphWriter


def linear(w: GraphWriter, x: str, inputs: int, outputs: int) -> str:
    """`x @ W + b` on any rank: MatMul, Add."""
    product = w.op("MatMul", x, w.normal((inputs, outputs), inputs**-0.5))
    return w.op("Add", w.normal((outputs,), 0.02), product)


def layer_norm(w: GraphWriter, x: str, size: int, epsilon: float) -> str:
    """Over the last axis."""
    scale, bias = w.around((size,), 1.0), w.around((size,), 0.0)
    return w.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)


def gelu(w: GraphWriter, x: str) -> str:
    """x * (erf(x / sqrt(2)) + 1) * 0.5."""
    erf = w.op("Erf", w.op("Div", x, w.scalar(math.sqrt(2))))
    product = w.op("Mul", x, w.op("Add", erf, w.scalar(1.0)))
    return w.op("Mul", product, w.scalar(0.5))


def convolution(
    w: GraphWriter, x: str, inputs: int, outputs: int, kernel: int, stride: int = 1, group: int = 1
) -> str:
    """Conv without bias, padded to keep sizes at stride 1. Keeps the variance of a rectified input."""
    fan_in = inputs // group * kernel * kernel
    weights = w.normal((outputs, inputs // group, kernel, kernel), math.sqrt(2 / fan_in))
    return w.op(
        "Conv", x, weights, dilations=[1, 1], group=group, kernel_shape=[kernel, kernel],
        pads=[kernel // 2] * 4, strides=[stride, stride],
    )  # fmt: skip


def batch_norm(w: GraphWriter, x: str, channels: int, scale: float = 1.0) -> str:
    """With statistics a little off those of its input."""
    parameters = [
        w.around((channels,), scale, 0.1 * scale),
        w.around((channels,), 0.0),
        w.around((channels,), 0.0),
        w.around((channels,), 1.0),
    ]
    return w.op("BatchNormalization", x, *parameters, epsilon=1e-5, momentum=0.9)
