"""Reductions, and ops that normalise along an axis."""

from __future__ import annotations

import numpy as np

from random_graphs.builder import FLOATS, GraphBuilder, Refused

WEIGHT = 2

REDUCE = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
          "ReduceSumSquare", "ReduceLogSumExp", "ReduceLogSum")  # fmt: skip


def add_reduce(g: GraphBuilder) -> None:
    """Axes given, left out or empty; from either end; dims kept or not."""
    op = g.source.choice(REDUCE)
    x = g.pick(lambda array: array.dtype in FLOATS and array.size > 0)
    count = g.source.integer(0, g.rank(x))
    axes = g.source.shuffled(range(g.rank(x)))[:count]
    given = {} if g.source.chance(20) else {"keepdims": g.source.integer(0, 1)}
    if not axes and g.source.chance(40):
        g.one(op, x, *([g.ints()] if g.source.chance(50) else []), noop_with_empty_axes=1, **given)
    elif not axes:
        g.one(op, x, **given)
    else:
        g.one(op, x, g.ints(*(g.maybe_negative(axis, g.rank(x)) for axis in axes)), **given)


def add_integer_reduce(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.dtype in (np.int64, np.int32) and array.ndim > 0 and array.size > 0)
    op = g.source.choice(("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"))
    g.one(op, x, g.ints(g.axis(x)), keepdims=g.source.integer(0, 1))


def add_arg(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.ndim > 0 and array.size > 0 and array.dtype == np.float32)
    if np.isnan(g.array(x)).any():
        raise Refused  # the standard does not say which element wins
    given = {"select_last_index": 1} if g.source.chance(30) else {}
    op = g.source.choice(("ArgMax", "ArgMin"))
    g.one(op, x, axis=g.axis(x), keepdims=g.source.integer(0, 1), **given)


def add_softmax(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.dtype in FLOATS and array.ndim > 0 and array.size > 0)
    given = {} if g.source.chance(30) else {"axis": g.axis(x)}
    g.one(g.source.choice(("Softmax", "LogSoftmax")), x, **given)


def add_cum_sum(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.dtype in (np.float32, np.int64) and 0 < array.ndim < 4)
    axis = g.constant(np.array(g.axis(x), np.int64))
    g.one("CumSum", x, axis, exclusive=g.source.integer(0, 1), reverse=g.source.integer(0, 1))


def add_layer_normalization(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.dtype in (np.float32, np.float16) and array.ndim > 0 and array.size > 0)
    axis = g.axis(x)
    shape = g.shape(x)[axis % g.rank(x) :]
    scale = g.random_constant(shape, g.dtype(x))
    bias = [g.random_constant(shape, g.dtype(x))] if g.source.chance(60) else []
    g.one("LayerNormalization", x, scale, *bias, axis=axis, epsilon=g.source.choice((1e-5, 1e-3)))


def add_lp_normalization(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.dtype == np.float32 and array.ndim > 0 and array.size > 0)
    g.one("LpNormalization", x, axis=g.axis(x), p=g.source.integer(1, 2))
