"""Quantized ops of com.microsoft."""

from __future__ import annotations

from typing import Any

import numpy as np

from peer_cases.case import Array, Case
from peer_cases.draw import Draw
from peer_cases.generators.microsoft_products import windows
from peer_cases.registry import Limit, cases_of

# onnxruntime multiplies with the inverse of a scale, and rounds tables in places of its own.
LEVEL = Limit(quanta=1, share=0.1)
WHY = "a level where the float before rounding is at a half"


def parameters(draw: Draw, dtype: Any, zero: float = 0.9) -> tuple[Array, Array | None]:
    """Scale and zero point of a tensor, the latter as often as said."""
    return draw.scale(), draw.maybe(draw.whole(dtype), zero)


def held(draw: Draw, inputs: list[Any], *tensors: int) -> list[int]:
    """All but the tensors themselves, in most cases."""
    return [i for i, x in enumerate(inputs) if i not in tensors and x is not None] if draw.often(0.8) else []


@cases_of("QLinearAdd", limit=LEVEL, reason=WHY)
@cases_of("QLinearMul", limit=LEVEL, reason=WHY)
def qlinear_binary(draw: Draw) -> Case:
    dtype = draw.one_of(np.uint8, np.int8)
    shape = draw.shape(0)
    shapes = [shape, draw.broadcastable(shape)]
    if draw.often():
        shapes.reverse()
    inputs: list[Any] = []
    for each in shapes:
        inputs += [draw.whole(dtype, *each), draw.scale(), draw.whole(dtype)]
    # The product of two tensors is scaled down as much as they are up.
    inputs += [draw.uniform(0.1, 0.6), draw.maybe(draw.whole(dtype))]
    constant = held(draw, inputs, 0, 3) + [3] * draw.often(0.2)
    return Case(inputs, constant=constant, is_dynamic=draw.often(0.3))


@cases_of("QLinearSigmoid", limit=LEVEL, reason=WHY)
def qlinear_sigmoid(draw: Draw) -> Case:
    dtype = draw.one_of(np.uint8, np.int8)
    inputs = [draw.whole(dtype, *draw.shape(0)), *parameters(draw, dtype), draw.uniform(0.003, 0.01),
              draw.maybe(draw.whole(dtype), 0.7)]  # fmt: skip
    return Case(inputs, constant=held(draw, inputs, 0), is_dynamic=draw.often(0.3))


@cases_of("QLinearLeakyRelu", limit=LEVEL, reason=WHY)
def qlinear_leaky_relu(draw: Draw) -> Case:
    dtype = draw.one_of(np.uint8, np.int8)
    inputs = [draw.whole(dtype, *draw.shape(0)), *parameters(draw, dtype), *parameters(draw, dtype)]
    attributes = draw.some({"alpha": draw.number(-0.5, 1.5)}, 0.7)
    return Case(inputs, attributes, constant=held(draw, inputs, 0), is_dynamic=draw.often(0.3))


@cases_of("QLinearSoftmax", limit=Limit(quanta=1, share=0.2), reason="a table of rounded exponentials")
def qlinear_softmax(draw: Draw) -> Case:
    dtype = draw.one_of(np.uint8, np.int8)
    x = draw.whole(dtype, *draw.shape(1))
    inputs = [x, *parameters(draw, dtype), np.float32(1 / draw.size(100, 600)), draw.whole(dtype)]
    inputs = [np.asarray(v) if v is not None else None for v in inputs]
    attributes = {"axis": draw.size(-x.ndim, x.ndim - 1), "opset": draw.one_of(11, 12, 13, 17)}
    return Case(inputs, attributes, constant=held(draw, inputs, 0), is_dynamic=draw.often(0.3))


@cases_of("QLinearGlobalAveragePool", limit=LEVEL, reason=WHY)
def qlinear_global_average_pool(draw: Draw) -> Case:
    dtype, last = draw.one_of(np.uint8, np.int8), draw.one_of(0, 1)
    channels, sizes = draw.size(1, 6), [draw.size(1, 6) for _ in range(draw.one_of(1, 2, 2, 3))]
    shape = [draw.size(1, 3), *([*sizes, channels] if last else [channels, *sizes])]
    inputs = [draw.whole(dtype, *shape), draw.scale(), draw.whole(dtype), draw.scale(), draw.whole(dtype)]
    attributes = {"channels_last": last}
    return Case(inputs, attributes, constant=held(draw, inputs, 0), is_dynamic=draw.often(0.3))


@cases_of("QLinearAveragePool", limit=LEVEL, reason=WHY)
def qlinear_average_pool(draw: Draw) -> Case:
    dtype, last = draw.one_of(np.uint8, np.int8), draw.one_of(0, 1)
    rank = draw.one_of(1, 2, 2, 3)
    channels, sizes = draw.size(1, 6), [draw.size(1, 7) for _ in range(rank)]
    kernel = [draw.size(1, 3) for _ in range(rank)]
    shape = [draw.size(1, 3), *([*sizes, channels] if last else [channels, *sizes])]
    inputs = [draw.whole(dtype, *shape), draw.scale(), draw.whole(dtype), *parameters(draw, dtype)]
    attributes = windows(draw, sizes, kernel, dilates=False)
    attributes |= draw.some({"channels_last": last, "count_include_pad": 1, "ceil_mode": 1}, 0.4)
    if last:
        attributes["channels_last"] = 1
    return Case(inputs, attributes, constant=held(draw, inputs, 0), is_dynamic=draw.often(0.2))


@cases_of("QLinearConcat", limit=LEVEL, reason=WHY)
def qlinear_concat(draw: Draw) -> Case:
    dtype, shape = draw.one_of(np.uint8, np.int8), draw.shape(1)
    axis = draw.size(-len(shape), len(shape) - 1)
    scale, zero = draw.scale(), draw.whole(dtype)
    inputs: list[Any] = [scale, zero]
    tensors: list[int] = []
    for _ in range(draw.size(1, 4)):
        own = list(shape)
        own[axis] = draw.dim()
        tensors.append(len(inputs))
        same = draw.often(0.3)
        inputs += [
            draw.whole(dtype, *own),
            scale if same else draw.scale(),
            zero if same else draw.whole(dtype),
        ]
    return Case(inputs, {"axis": axis}, constant=held(draw, inputs, *tensors), is_dynamic=draw.often(0.2))


@cases_of("QLinearWhere", limit=LEVEL, reason=WHY)
def qlinear_where(draw: Draw) -> Case:
    dtype, shape = draw.one_of(np.uint8, np.int8), draw.shape(1)
    inputs: list[Any] = [draw.bools(*draw.broadcastable(shape))]
    for each in (shape, draw.broadcastable(shape)):
        inputs += [draw.whole(dtype, *each), draw.scale(), draw.whole(dtype)]
    inputs += [draw.scale(), draw.whole(dtype)]
    return Case(inputs, constant=held(draw, inputs, 0, 1, 4), is_dynamic=draw.often(0.2))


@cases_of("QGemm", limit=LEVEL, reason=WHY)
def qgemm(draw: Draw) -> Case:
    left = draw.one_of(np.uint8, np.int8)
    right = np.int8 if left is np.int8 else draw.one_of(np.uint8, np.int8)
    m, k, n = draw.dim(), draw.size(1, 30), draw.size(1, 20)
    attributes: dict[str, Any] = {"transA": draw.one_of(0, 1), "transB": draw.one_of(0, 1)}
    attributes |= draw.some({"alpha": draw.number(-2, 2)}, 0.2)
    a = draw.whole(left, *((k, m) if attributes["transA"] else (m, k)))
    b = draw.whole(right, *((n, k) if attributes["transB"] else (k, n)))
    columns = [n] if draw.often() else draw.one_of([], [1])
    c = draw.rng.integers(-9000, 9000, draw.one_of([n], [1, n], [m, n], [m, 1], [1], [])).astype(np.int32)
    a_scale = draw.scale(*draw.one_of([], [1]))
    inputs = [
        a, a_scale, draw.whole(left, *a_scale.shape), b, draw.scale(*columns),
        draw.whole(right, *columns), draw.maybe(c),
    ]  # fmt: skip
    if draw.often(0.6):
        inputs += [draw.uniform(1, 8), draw.whole(left)]
    return Case(inputs, attributes, constant=held(draw, inputs, 0), is_dynamic=draw.often(0.2), static=[3])


@cases_of("QuantizeLinear", limit=LEVEL, reason=WHY)
def quantize_linear(draw: Draw) -> Case:
    dtype = draw.one_of(np.uint8, np.int8, np.uint16, np.int16)
    x = draw.special(draw.normal(*draw.shape(1), scale=3))
    x = np.where(np.isnan(x), np.float32(0), x)
    axis = draw.size(-x.ndim, x.ndim - 1)
    shape = [x.shape[axis]] if draw.often() else []
    inputs = [x, draw.scale(*shape), draw.whole(dtype, *shape)]
    attributes = {"axis": axis} if shape else {}
    return Case(inputs, attributes, constant=held(draw, inputs, 0), is_dynamic=draw.often(0.2))


@cases_of("DequantizeLinear", limit=Limit(relative=0), reason="one product")
def dequantize_linear(draw: Draw) -> Case:
    dtype = draw.one_of(np.uint8, np.int8, np.uint16, np.int16)
    x = draw.whole(dtype, *draw.shape(1))
    axis = draw.size(-x.ndim, x.ndim - 1)
    shape = [x.shape[axis]] if draw.often() else []
    inputs = [x, draw.scale(*shape), draw.maybe(draw.whole(dtype, *shape))]
    attributes = {"axis": axis} if shape else {}
    return Case(inputs, attributes, constant=held(draw, inputs, 0), is_dynamic=draw.often(0.2))


@cases_of("QLinearConv", limit=LEVEL, reason=WHY)
def qlinear_conv(draw: Draw) -> Case:
    left = draw.one_of(np.uint8, np.int8)
    right = np.int8 if left is np.int8 else draw.one_of(np.uint8, np.int8)
    groups, last = draw.one_of(1, 1, 2, 3), draw.one_of(0, 1)
    depth, filters, rank = draw.size(1, 3), draw.size(1, 3), draw.one_of(1, 2, 2)
    sizes, kernel = [draw.size(1, 8) for _ in range(rank)], [draw.size(1, 3) for _ in range(rank)]
    attributes = windows(draw, sizes, kernel) | {"group": groups, "channels_last": last}
    channels = depth * groups
    x = draw.whole(left, draw.size(1, 2), *([*sizes, channels] if last else [channels, *sizes]))
    w = draw.whole(right, filters * groups, depth, *kernel)
    scales = draw.scale(filters * groups) if draw.often() else draw.scale()
    zero = np.zeros(scales.shape, right) if right is np.int8 else np.full(scales.shape, 7, right)
    bias = draw.rng.integers(-9000, 9000, filters * groups).astype(np.int32)
    inputs = [
        x, draw.scale(), draw.whole(left), w, scales, zero, draw.uniform(0.5, 3), draw.whole(left),
        draw.maybe(bias),
    ]  # fmt: skip
    return Case(inputs, attributes, constant=held(draw, inputs, 0), is_dynamic=draw.often(0.2), static=[3])


@cases_of("DynamicQuantizeLSTM", limit=Limit(relative=3e-2), reason="states at a half go to either level")
def dynamic_quantize_lstm(draw: Draw) -> Case:
    steps, batch, width, hidden = draw.size(1, 5), draw.size(1, 3), draw.size(1, 8), draw.size(1, 8)
    direction = draw.one_of("forward", "reverse", "bidirectional")
    both = 2 if direction == "bidirectional" else 1
    dtype = draw.one_of(np.uint8, np.int8)
    by_column = draw.often(0.3)
    shape = [both, 4 * hidden] if by_column else [both]
    zero = 0 if dtype is np.int8 else 128
    inputs = [
        draw.normal(steps, batch, width), draw.whole(dtype, both, width, 4 * hidden),
        draw.whole(dtype, both, hidden, 4 * hidden), draw.maybe(draw.normal(both, 8 * hidden)),
        draw.maybe(draw.below(steps + 1, batch, dtype=np.int32, low=1), 0.3),
        draw.maybe(draw.normal(both, batch, hidden), 0.4), draw.maybe(draw.normal(both, batch, hidden), 0.4),
        draw.maybe(draw.normal(both, 3 * hidden), 0.3),
        draw.uniform(0.001, 0.005, *shape), np.full(shape, zero, dtype),
        draw.uniform(0.001, 0.005, *shape), np.full(shape, zero, dtype),
    ]  # fmt: skip
    attributes: dict[str, Any] = {"hidden_size": hidden, "direction": direction}
    attributes |= draw.some({"clip": draw.number(0.5, 3), "input_forget": 1}, 0.2)
    if draw.often(0.2):
        attributes["activations"] = ["HardSigmoid", "Softsign", "Tanh"] * both
    outputs = draw.one_of([True, True, True], [True], [False, True], [False, True, True])
    return Case(inputs, attributes, outputs, constant=[1, 2, 3, 7, 8, 9, 10, 11], is_dynamic=draw.often(0.2),
                static=[5, 6])  # fmt: skip
