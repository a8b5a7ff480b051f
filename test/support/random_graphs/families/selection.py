"""Ops that choose, place or count elements by what indices or values say."""

from __future__ import annotations

import math

import numpy as np

from random_graphs.builder import BOOL, FLOATS, INTEGERS, GraphBuilder, Refused

WEIGHT = 2

REDUCTIONS = ("none", "add", "mul", "min", "max")


def _indices(g: GraphBuilder, shape: list[int], bound: int) -> np.ndarray:
    """Indices into `bound` elements, from either end."""
    picks = [g.source.integer(-bound, bound - 1) for _ in range(math.prod(shape))]
    return np.array(picks, np.int64).reshape(shape)


def add_scatter_nd(g: GraphBuilder) -> None:
    """Whole slices or single elements; without a reduction no element is written twice."""
    x = g.pick(lambda a: 0 < a.ndim < 4 and a.size > 0 and a.dtype in (*FLOATS, *INTEGERS))
    depth = g.source.integer(1, g.rank(x))
    reduction = g.source.choice(REDUCTIONS)
    if reduction == "none":
        places = list(np.ndindex(g.shape(x)[:depth]))
        rows = g.source.shuffled(places)[: g.source.integer(1, min(3, len(places)))]
    else:
        rows = [[g.source.integer(0, dim - 1) for dim in g.shape(x)[:depth]] for _ in range(3)]
    indices = np.array(rows, np.int64).reshape(len(rows), depth)
    updates = g.random_constant((len(rows), *g.shape(x)[depth:]), g.dtype(x))
    given = {} if reduction == "none" and g.source.chance(50) else {"reduction": reduction}
    g.one("ScatterND", x, g.constant(indices), updates, **given)


def add_scatter_elements(g: GraphBuilder) -> None:
    x = g.pick(lambda a: 0 < a.ndim < 4 and a.size > 0 and a.dtype in (*FLOATS[:2], *INTEGERS[:2]))
    axis = g.axis(x)
    shape = list(g.shape(x))
    shape[axis] = g.source.integer(1, 3)
    indices = g.constant(_indices(g, shape, g.shape(x)[axis]))
    updates = g.random_constant(shape, g.dtype(x))
    g.one("ScatterElements", x, indices, updates, axis=axis, reduction=g.source.choice(REDUCTIONS[1:]))


def add_gather_nd(g: GraphBuilder) -> None:
    x = g.pick(lambda a: 0 < a.ndim < 5 and a.size > 0)
    batch = g.source.integer(0, g.rank(x) - 1) if g.source.chance(30) else 0
    depth = g.source.integer(1, g.rank(x) - batch)
    lead = [*g.shape(x)[:batch], g.source.integer(1, 3)]
    columns = [_indices(g, lead, dim) for dim in g.shape(x)[batch : batch + depth]]
    g.one("GatherND", x, g.constant(np.stack(columns, axis=-1)), batch_dims=batch)


def add_reverse_sequence(g: GraphBuilder) -> None:
    x = g.pick(lambda a: 2 <= a.ndim < 5 and a.size > 0)
    time = g.source.integer(0, 1)
    lengths = [g.source.integer(1, g.shape(x)[time]) for _ in range(g.shape(x)[1 - time])]
    g.one("ReverseSequence", x, g.ints(*lengths), time_axis=time, batch_axis=1 - time)


def add_eye_like(g: GraphBuilder) -> None:
    g.one("EyeLike", g.pick(lambda a: a.ndim == 2 and a.dtype in FLOATS[:2]), k=g.source.integer(-2, 2))


def add_unique(g: GraphBuilder) -> None:
    x = g.pick(lambda a: 0 < a.ndim < 4 and a.size > 0 and a.dtype in (np.float32, np.int64))
    if np.isnan(g.array(x).astype(np.float64)).any():
        raise Refused  # the standard does not say whether NaN equals NaN
    given = {"axis": g.axis(x)} if g.source.chance(50) else {}
    g.add("Unique", [x], outputs=4, sorted=g.source.integer(0, 1), **given)


def add_compress(g: GraphBuilder) -> None:
    x = g.pick(lambda a: 0 < a.ndim < 4 and a.size > 0)
    if g.source.chance(40):
        g.one("Compress", x, g.random_constant((g.source.integer(1, g.array(x).size),), BOOL))
        return
    axis = g.axis(x)
    g.one("Compress", x, g.random_constant((g.source.integer(1, g.shape(x)[axis]),), BOOL), axis=axis)


def add_center_crop_pad(g: GraphBuilder) -> None:
    x = g.pick(lambda a: 0 < a.ndim < 4 and a.size > 0 and a.dtype == np.float32)
    axes = g.source.shuffled(range(g.rank(x)))[: g.source.integer(1, g.rank(x))]
    g.one("CenterCropPad", x, g.ints(*(g.source.integer(1, 5) for _ in axes)), axes=axes)


def add_non_max_suppression(g: GraphBuilder) -> None:
    """Boxes on a coarse grid; thresholds that no overlap meets exactly."""
    rng = np.random.default_rng(g.source.integer(0, 2**32 - 1))
    count = g.source.integer(1, 6)
    boxes = rng.integers(0, 8, (1, count, 4)).astype(np.float32)
    x = g.pick(lambda a: a.dtype == np.float32 and a.size >= count)
    if np.isnan(g.array(x)).any():
        raise Refused  # scores are compared
    first = g.one("Slice", g.one("Reshape", x, g.ints(-1)), g.ints(0), g.ints(count))
    scores = g.one("Reshape", first, g.ints(1, 1, count))
    limits = [g.ints(g.source.integer(1, 4)), g.constant(np.array([0.37], np.float32))]
    if g.source.chance(50):
        limits.append(g.constant(np.array([0.05], np.float32)))
    g.one("NonMaxSuppression", g.constant(boxes), scores, *limits, center_point_box=g.source.integer(0, 1))


def add_max_pool_with_indices(g: GraphBuilder) -> None:
    """And the way back."""
    x = g.pick(lambda a: a.dtype == np.float32 and a.ndim in (3, 4) and a.size > 0 and min(a.shape[2:]) > 1)
    if np.isnan(g.array(x)).any():
        raise Refused  # the standard does not say which element wins
    window = {"kernel_shape": [2] * (g.rank(x) - 2), "strides": [2] * (g.rank(x) - 2)}
    y, indices = g.add("MaxPool", [x], outputs=2, **window)
    if g.source.chance(60):
        g.one("MaxUnpool", y, indices, **window)


def add_col2im(g: GraphBuilder) -> None:
    height, width = g.source.integer(2, 4), g.source.integer(2, 4)
    blocks = (height - 1) * (width - 1)
    x = g.random_constant((1, 8, blocks), np.dtype(np.float32))
    other = g.pick(lambda a: a.dtype == np.float32 and a.ndim == 0)
    g.one("Col2Im", g.one("Add", x, other), g.ints(height, width), g.ints(2, 2))


def add_tensor_scatter(g: GraphBuilder) -> None:
    x = g.pick(lambda a: a.dtype in FLOATS[:1] and 3 <= a.ndim < 5 and a.size > 0)
    length = g.shape(x)[-2]
    count = g.source.integer(1, length)
    update = g.random_constant((*g.shape(x)[:-2], count, g.shape(x)[-1]), g.dtype(x))
    starts = [g.source.integer(0, length - count) for _ in range(g.shape(x)[0])]
    g.one("TensorScatter", x, update, g.ints(*starts), mode=g.source.choice(("linear", "circular")))


def add_hardmax(g: GraphBuilder) -> None:
    x = g.pick(lambda a: a.dtype in FLOATS[:2] and a.ndim > 0 and a.size > 0)
    if np.isnan(g.array(x)).any():
        raise Refused  # the standard does not say which element wins
    g.one("Hardmax", x, axis=g.axis(x))
