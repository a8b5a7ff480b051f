"""Matrix products, convolutions, pooling, and the per-channel ops that follow them."""

from __future__ import annotations

import numpy as np

from random_graphs.builder import FLOATS, GraphBuilder

WEIGHT = 3

PRODUCT_TYPES = (np.float32, np.float64, np.float16)


def _product_input(g: GraphBuilder, low: int, high: int) -> str:
    return g.pick(lambda a: a.dtype in PRODUCT_TYPES and low <= a.ndim <= high and a.size > 0)


def add_matmul(g: GraphBuilder) -> None:
    x = _product_input(g, 1, 4)
    inner = g.shape(x)[-1]
    if g.source.chance(30):
        y = g.pick_like(x, lambda array: 0 < array.ndim < 4 and array.shape[max(0, array.ndim - 2)] == inner)
    else:
        shape = g.source.choice(((inner, 3), (inner, 1), (inner,), (1, inner, 2)))
        y = g.random_constant(shape, g.dtype(x))
    product = g.one("MatMul", x, y)
    if g.source.chance(50):
        _follow(g, product)


def _follow(g: GraphBuilder, product: str) -> None:
    shape = g.shape(product)[-1:]
    inputs = [product, g.random_constant(shape if g.source.chance(70) else (), g.dtype(product))]
    g.one(g.source.choice(("Add", "Add", "Mul")), *(inputs if g.source.chance(60) else inputs[::-1]))


def add_gemm(g: GraphBuilder) -> None:
    x = _product_input(g, 2, 2)
    left, right = g.source.integer(0, 1), g.source.integer(0, 1)
    inner = g.shape(x)[0 if left else 1]
    width = g.source.integer(1, 4)
    w = g.random_constant((width, inner) if right else (inner, width), g.dtype(x))
    rows = g.shape(x)[1 if left else 0]
    shape = g.source.choice(((width,), (), (1, width), (rows, 1), (rows, width)))
    bias = [g.random_constant(shape, g.dtype(x))] if g.source.chance(60) else []
    given = {"alpha": g.source.choice((1.0, 0.5)), "beta": g.source.choice((1.0, 0.25))}
    g.one("Gemm", x, w, *bias, transA=left, transB=right, **(given if g.source.chance(50) else {}))


def add_conv(g: GraphBuilder) -> None:
    x = g.pick(lambda a: a.dtype == np.float32 and a.ndim in (3, 4) and a.size > 0)
    channels, spatial = g.shape(x)[1], g.rank(x) - 2
    group = channels if g.source.chance(25) else 1
    out = group * g.source.integer(1, 2)
    kernel = [g.source.integer(1, min(2, dim)) for dim in g.shape(x)[2:]]
    w = g.random_constant((out, channels // group, *kernel), g.dtype(x))
    bias = [g.random_constant((out,), g.dtype(x))] if g.source.chance(50) else []
    pads = [g.source.integer(0, 1) for _ in range(2 * spatial)]
    y = g.one("Conv", x, w, *bias, group=group, pads=pads, strides=[g.source.integer(1, 2)] * spatial)
    match g.source.integer(0, 4):
        case 0:
            batch_normalization(g, y)
        case 1:
            per_channel(g, y)
        case 2:
            g.one(g.source.choice(("Relu", "Sigmoid", "HardSwish", "Clip")), y)
        case _:
            pass


def per_channel(g: GraphBuilder, x: str) -> str:
    """A factor or summand whose shape fits the channels, or only looks as if it did."""
    channels = g.shape(x)[1]
    tail = [1] * (g.rank(x) - 2)
    shapes = [[channels, *tail], [1, channels, *tail], [1], [], [g.shape(x)[-1]]]
    other = g.random_constant(g.source.choice(shapes), g.dtype(x))
    return g.one(g.source.choice(("Mul", "Add", "Sub", "Div")), x, other)


def batch_normalization(g: GraphBuilder, x: str) -> str:
    """In inference form, with constant statistics."""
    channels = (g.shape(x)[1],)
    scale, bias, mean = (g.random_constant(channels, g.dtype(x)) for _ in range(3))
    rng = np.random.default_rng(g.source.integer(0, 2**32 - 1))
    variance = g.constant((rng.random(channels) + 0.2).astype(g.dtype(x)))
    given = {"epsilon": 1e-3} if g.source.chance(50) else {}
    return g.one("BatchNormalization", x, scale, bias, mean, variance, **given)


def add_batch_normalization(g: GraphBuilder) -> None:
    batch_normalization(g, g.pick(lambda a: a.dtype in FLOATS[:2] and 2 <= a.ndim <= 4 and a.size > 0))


def add_pool(g: GraphBuilder) -> None:
    x = g.pick(lambda a: a.dtype == np.float32 and a.ndim in (3, 4) and a.size > 0 and min(a.shape[2:]) > 1)
    spatial = g.rank(x) - 2
    pads = [g.source.integer(0, 1)] * (2 * spatial)
    common = {"kernel_shape": [2] * spatial, "strides": [g.source.integer(1, 2)] * spatial, "pads": pads}
    if g.source.chance(50):
        g.one("MaxPool", x, ceil_mode=g.source.integer(0, 1), **common)
    else:
        g.one("AveragePool", x, count_include_pad=g.source.integer(0, 1), **common)


def add_global_pool(g: GraphBuilder) -> None:
    x = g.pick(lambda a: a.dtype == np.float32 and a.ndim in (3, 4) and a.size > 0)
    g.one(g.source.choice(("GlobalAveragePool", "GlobalMaxPool")), x)


def add_instance_normalization(g: GraphBuilder) -> None:
    x = g.pick(lambda a: a.dtype == np.float32 and a.ndim in (3, 4) and a.size > 0)
    scale, bias = (g.random_constant((g.shape(x)[1],), g.dtype(x)) for _ in range(2))
    g.one("InstanceNormalization", x, scale, bias)


def add_conv_transpose(g: GraphBuilder) -> None:
    x = g.pick(lambda a: a.dtype == np.float32 and a.ndim in (3, 4) and a.size > 0)
    spatial = g.rank(x) - 2
    w = g.random_constant((g.shape(x)[1], 2, *[2] * spatial), g.dtype(x))
    bias = [g.random_constant((2,), g.dtype(x))] if g.source.chance(50) else []
    g.one("ConvTranspose", x, w, *bias, strides=[g.source.integer(1, 2)] * spatial)


def add_einsum(g: GraphBuilder) -> None:
    x = g.pick(lambda a: a.dtype == np.float32 and a.ndim == 2 and a.size > 0)
    g.one("Einsum", x, g.random_constant((g.shape(x)[1], 2), g.dtype(x)), equation="ij,jk->ki")
