"""Products with constant weights, and the factors, summands and normalizations that weights may absorb."""

from __future__ import annotations

import numpy as np

from random_graphs.builder import GraphBuilder
from random_graphs.families.products import batch_normalization, per_channel
from random_graphs.values import proto_type

WEIGHT = 3


def pick_image(g: GraphBuilder) -> str:
    return g.pick(lambda a: a.dtype == np.float32 and a.ndim in (3, 4) and a.size > 0)


def convolution(g: GraphBuilder, x: str) -> str:
    """Conv or ConvTranspose; grouped, padded and with a bias or not."""
    channels, spatial = g.shape(x)[1], g.rank(x) - 2

    def bias_of(count: int) -> list[str]:
        return [g.random_constant((count,), g.dtype(x))] if g.source.chance(50) else []

    pad = g.source.integer(0, 1)
    group = channels if g.source.chance(25) else 1
    if g.source.chance(30):
        w = g.random_constant((channels, 2, *[2] * spatial), g.dtype(x))
        return g.one("ConvTranspose", x, w, *bias_of(2 * group), group=group)
    kernel = [min(2, dim) for dim in g.shape(x)[2:]]
    w = g.random_constant((2 * group, channels // group, *kernel), g.dtype(x))
    return g.one("Conv", x, w, *bias_of(2 * group), group=group, pads=[pad] * (2 * spatial))


def affine(g: GraphBuilder, x: str) -> str:
    """One factor, summand or normalization."""
    return batch_normalization(g, x) if g.source.chance(30) else per_channel(g, x)


def add_conv_then_affine(g: GraphBuilder) -> None:
    y = affine(g, convolution(g, pick_image(g)))
    if g.source.chance(40):
        affine(g, y)


def add_affine_then_conv(g: GraphBuilder) -> None:
    convolution(g, affine(g, pick_image(g)))


def add_matmul_then_affine(g: GraphBuilder) -> None:
    """The factor is per column, one number, or per row."""
    x = g.pick(lambda a: a.dtype in (np.float32, np.float64) and a.ndim == 2 and a.size > 0)
    columns = g.source.integer(1, 4)
    w = g.random_constant((g.shape(x)[1], columns), g.dtype(x))
    bias = [g.random_constant((columns,), g.dtype(x))]
    product = (
        g.one("MatMul", x, w) if g.source.chance(50) else g.one("Gemm", x, w, *bias[: g.source.integer(0, 1)])
    )
    if g.source.chance(35):
        batch_normalization(g, product)
        return
    shape = g.source.choice(((columns,), (1, columns), (), (1,), (g.shape(x)[0], 1)))
    other = g.random_constant(shape, g.dtype(x))
    g.one(g.source.choice(("Mul", "Add", "Div", "Sub")), product, other)


def add_shared_weight(g: GraphBuilder) -> None:
    """Two products read one weight; only one of them is scaled."""
    x = pick_image(g)
    w = g.random_constant((2, g.shape(x)[1], *[1] * (g.rank(x) - 2)), g.dtype(x))
    per_channel(g, g.one("Conv", x, w))
    g.one("Conv", g.one("Relu", x), w)


def add_neutral_normalization(g: GraphBuilder) -> None:
    """Scale 1, bias 0, mean 0, variance 1; with epsilon 0 it does nothing."""
    x = g.pick(lambda a: a.dtype in (np.float32, np.float64) and 2 <= a.ndim <= 4 and a.size > 0)
    channels = (g.shape(x)[1],)
    values = [g.constant(np.full(channels, v, g.dtype(x))) for v in (1, 0, 0, 1)]
    g.one("BatchNormalization", x, *values, epsilon=g.source.choice((0.0, 1e-5)))


def add_normalization_in_wide_type(g: GraphBuilder) -> None:
    """A half-precision value, normalized as f32 and narrowed again."""
    x = g.pick(lambda a: a.dtype.itemsize == 2 and a.dtype.kind in "fV" and a.ndim > 0 and a.size > 0)
    wide = g.one("Cast", x, to=1)
    scale = g.random_constant(g.shape(x)[-1:], np.dtype(np.float32))
    op = "RMSNormalization" if g.source.chance(40) else "LayerNormalization"
    g.one("Cast", g.one(op, wide, scale, axis=-1), to=proto_type(g.dtype(x)))
