"""Quantized values: to levels and back, integer products, and casts through small types."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from random_graphs.builder import GraphBuilder, Refused

WEIGHT = 2

BYTES = (np.dtype(np.uint8), np.dtype(np.int8))
SMALL = (
    TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2FNUZ,
    TensorProto.INT4, TensorProto.UINT4, TensorProto.FLOAT4E2M1,
)  # fmt: skip


def _finite(g: GraphBuilder, low: int, high: int) -> str:
    x = g.pick(lambda a: a.dtype == np.float32 and low <= a.ndim <= high and a.size > 0)
    if not np.isfinite(g.array(x)).all() or np.abs(g.array(x)).max() > 1e6:
        raise Refused  # what a conversion to integers does with those is not said
    return x


def _levels(g: GraphBuilder, dtype: np.dtype) -> list[str]:
    """A scale and a zero point of all elements."""
    scale = g.constant(np.array(g.source.choice((0.05, 0.25, 0.013)), np.float32))
    zero = g.source.integer(100, 140) if dtype.kind == "u" else g.source.integer(-5, 5)
    return [scale, g.constant(np.array(zero, dtype))]


def add_quantize_and_back(g: GraphBuilder) -> None:
    """Of all elements or along an axis; sometimes something is computed in between."""
    x = _finite(g, 1, 4)
    dtype = g.source.choice(BYTES)
    if g.source.chance(40):
        axis = g.axis(x)
        width = g.shape(x)[axis]
        scale = g.constant(np.linspace(0.02, 0.3, width).astype(np.float32))
        zero = g.constant(np.arange(width).astype(dtype))
        q = g.one("QuantizeLinear", x, scale, zero, axis=axis)
        g.one("DequantizeLinear", q, scale, zero, axis=axis)
        return
    levels = _levels(g, dtype)
    q = g.one("QuantizeLinear", x, *levels)
    y = g.one("DequantizeLinear", q, *levels)
    if g.source.chance(60):
        z = g.one(g.source.choice(("Relu", "Sigmoid", "Neg")), y)
        g.one("QuantizeLinear", z, *_levels(g, dtype))


def add_dynamic_quantize(g: GraphBuilder) -> None:
    x = _finite(g, 2, 3)
    q, scale, zero = g.add("DynamicQuantizeLinear", [x], outputs=3)
    if g.source.chance(70):
        w = g.random_constant((g.shape(x)[-1], 3), np.dtype(np.int8))
        product = g.one("MatMulInteger", q, w, zero)
        g.one("Mul", g.one("Cast", product, to=TensorProto.FLOAT), scale)


def add_integer_product(g: GraphBuilder) -> None:
    x = g.pick(lambda a: a.dtype in BYTES and a.ndim in (2, 3) and a.size > 0)
    w = g.random_constant((g.shape(x)[-1], 2), g.source.choice(BYTES))
    zeros = [g.constant(np.array(3, g.dtype(x)))] if g.source.chance(50) else []
    g.one("MatMulInteger", x, w, *zeros)


def add_integer_convolution(g: GraphBuilder) -> None:
    x = g.one("QuantizeLinear", _finite(g, 4, 4), *_levels(g, BYTES[0]))
    channels = g.shape(x)[1]
    kernel = [min(2, dim) for dim in g.shape(x)[2:]]
    w = g.random_constant((2, channels, *kernel), g.source.choice(BYTES))
    pads = [g.source.integer(0, 1)] * 4
    if g.source.chance(40):
        g.one("ConvInteger", x, w, g.constant(np.array(120, np.uint8)), pads=pads)
        return
    inputs = [x, *_levels(g, BYTES[0]), w, *_levels(g, g.dtype(w)), *_levels(g, BYTES[0])]
    if g.source.chance(50):
        inputs.append(g.random_constant((2,), np.dtype(np.int32)))
    g.one("QLinearConv", *inputs, pads=pads)


def add_quantized_product(g: GraphBuilder) -> None:
    a = g.one("QuantizeLinear", _finite(g, 2, 3), *_levels(g, BYTES[0]))
    b = g.random_constant((g.shape(a)[-1], 2), g.source.choice(BYTES))
    g.one("QLinearMatMul", a, *_levels(g, BYTES[0]), b, *_levels(g, g.dtype(b)), *_levels(g, BYTES[0]))


def add_small_cast(g: GraphBuilder) -> None:
    """Through a type of at most a byte, and sometimes a move in it."""
    x = _finite(g, 1, 3)
    to = g.source.choice(SMALL)
    if to == TensorProto.FLOAT4E2M1 and g.shared.opset < 23:
        raise Refused
    lowest = {TensorProto.INT4: -7, TensorProto.UINT4: 0}.get(to)
    if lowest is not None and (np.abs(g.array(x)).max() > 7 or g.array(x).min() < lowest):
        raise Refused  # beyond the type
    small = g.one("Cast", x, to=to)
    if g.source.chance(40):
        small = g.one("Transpose", small)
    g.one("Cast", small, to=TensorProto.FLOAT)


def add_bit_cast(g: GraphBuilder) -> None:
    x = g.pick(lambda a: a.dtype in (np.float32, np.int32) and 0 < a.ndim < 4)
    g.one("BitCast", x, to=TensorProto.INT32 if g.dtype(x) == np.float32 else TensorProto.UINT32)
