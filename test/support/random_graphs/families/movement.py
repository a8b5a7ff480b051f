"""Ops that move elements without computing on them."""

from __future__ import annotations

import math

import numpy as np

from random_graphs.builder import BOOL, FLOATS, Fits, GraphBuilder, Refused

WEIGHT = 4

FAR = 2**63 - 1


def ranked(low: int, high: int = 6) -> Fits:
    """Values of a rank from `low` to `high`."""
    return lambda array: low <= array.ndim <= high


def add_transpose(g: GraphBuilder) -> None:
    x = g.pick(ranked(0, 5))
    if not g.rank(x) or g.source.chance(15):
        g.one("Transpose", x)
    else:
        g.one("Transpose", x, perm=g.source.shuffled(range(g.rank(x))))


def add_reshape(g: GraphBuilder) -> None:
    x = g.pick()
    g.one("Reshape", x, g.constant(np.array(target_shape(g, g.shape(x)), np.int64)))


def target_shape(g: GraphBuilder, shape: tuple[int, ...]) -> list[int]:
    """A shape of as many elements, with 0 (copy) and -1 (the rest) here and there."""
    size = math.prod(shape)
    dims: list[int] = []
    rest = size
    for _ in range(g.source.integer(0, 3)):
        divisors = [d for d in range(1, 9) if rest and rest % d == 0] or [0]
        dims.append(g.source.choice(divisors))
        rest = rest // dims[-1] if dims[-1] else 0
    dims.insert(g.source.integer(0, len(dims)), rest)
    if not size:
        return list(shape)
    for axis in range(min(len(dims), len(shape))):
        if dims[axis] == shape[axis] and g.source.chance(30):
            dims[axis] = 0
    if g.source.chance(50):
        dims[g.source.integer(0, len(dims) - 1)] = -1
    return dims


def add_flatten(g: GraphBuilder) -> None:
    x = g.pick()
    g.one("Flatten", x, axis=g.source.integer(-g.rank(x), g.rank(x)))


def add_unsqueeze(g: GraphBuilder) -> None:
    x = g.pick(ranked(0, 4))
    count = g.source.integer(1, 2)
    rank = g.rank(x) + count
    axes = g.source.shuffled(range(rank))[:count]
    g.one("Unsqueeze", x, g.ints(*(g.maybe_negative(axis, rank) for axis in axes)))


def add_squeeze(g: GraphBuilder) -> None:
    x = g.pick(lambda array: 1 in array.shape)
    if g.source.chance(20):
        g.one("Squeeze", x)
        return
    axes = [axis for axis, dim in enumerate(g.shape(x)) if dim == 1]
    some = g.source.shuffled(axes)[: g.source.integer(1, len(axes))]
    g.one("Squeeze", x, g.ints(*(g.maybe_negative(axis, g.rank(x)) for axis in some)))


def add_slice(g: GraphBuilder) -> None:
    x = g.pick(ranked(1))
    axis = g.axis(x)
    step = g.source.choice((1, 1, 1, 2, 3, -1, -2))
    bounds = (FAR, -FAR, 0, 1, 2, 3, -1, -2)
    start = g.source.choice(bounds[2:])
    end = g.source.choice(bounds if step > 0 else bounds[1:])  # 2**63 - 1 is no bound to count down to
    inputs = [x, g.ints(start), g.ints(end)]
    if step == 1 and axis in (0, -g.rank(x)) and g.source.chance(40):
        g.one("Slice", *inputs)
    elif step != 1 and g.source.chance(20) and axis == 0:
        g.one("Slice", *inputs, "", g.ints(step))
    else:
        g.one("Slice", *inputs, g.ints(axis), *([g.ints(step)] if step != 1 or g.source.chance(50) else []))


def add_concat(g: GraphBuilder) -> None:
    x = g.pick(ranked(1))
    axis = g.axis(x)
    place = axis % g.rank(x)

    def fits(array: np.ndarray) -> bool:
        dims = list(array.shape)
        return len(dims) == g.rank(x) and dims[:place] + dims[place + 1 :] == [
            dim for i, dim in enumerate(g.shape(x)) if i != place
        ]

    inputs = [x, *(g.pick_like(x, fits) for _ in range(g.source.integer(0, 2)))]
    g.one("Concat", *g.source.shuffled(inputs), axis=axis)


def add_split(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.ndim > 0 and max(array.shape) > 1)
    axis = g.axis(x)
    dim = g.shape(x)[axis]
    if g.source.chance(40) and dim > 1:
        g.add("Split", [x], outputs=2, axis=axis, num_outputs=2)
        return
    first = g.source.integer(0, dim)
    second = g.source.integer(0, dim - first)
    g.add("Split", [x, g.ints(first, second, dim - first - second)], outputs=3, axis=axis)


def add_gather(g: GraphBuilder) -> None:
    x = g.pick(ranked(1, 4))
    axis = g.axis(x)
    dim = g.shape(x)[axis]
    if not dim:
        raise Refused
    shape = g.source.choice(((), (1,), (2,), (2, 2), (0,)))
    picks = [g.source.integer(-dim, dim - 1) for _ in range(math.prod(shape))]
    dtype = np.int32 if g.source.chance(20) else np.int64
    g.one("Gather", x, g.constant(np.array(picks, dtype).reshape(shape)), axis=axis)


def add_gather_elements(g: GraphBuilder) -> None:
    x = g.pick(lambda array: 0 < array.ndim < 4 and array.size > 0)
    axis = g.axis(x)
    dim = g.shape(x)[axis]
    shape = list(g.shape(x))
    shape[axis] = g.source.integer(1, 3)
    picks = [g.source.integer(-dim, dim - 1) for _ in range(math.prod(shape))]
    g.one("GatherElements", x, g.constant(np.array(picks, np.int64).reshape(shape)), axis=axis)


def add_scatter_elements(g: GraphBuilder) -> None:
    x = g.pick(lambda array: 0 < array.ndim < 4 and array.size > 0 and array.dtype in FLOATS)
    axis = g.axis(x)
    shape = list(g.shape(x))
    shape[axis] = 1
    picks = [g.source.integer(0, g.shape(x)[axis] - 1) for _ in range(math.prod(shape))]
    indices = g.constant(np.array(picks, np.int64).reshape(shape))
    g.one("ScatterElements", x, indices, g.random_constant(shape, g.dtype(x)), axis=axis)


def add_expand(g: GraphBuilder) -> None:
    """A dim of the shape may be 1 where the input's is not, and the rank may grow."""
    x = g.pick(ranked(0, 4))
    dims = [1 if g.source.chance(40) else dim if dim != 1 else g.source.integer(0, 3) for dim in g.shape(x)]
    if g.source.chance(30):
        dims.insert(0, g.source.integer(1, 2))
    elif g.source.chance(20):
        dims = dims[1:]
    g.one("Expand", x, g.ints(*dims))


def add_tile(g: GraphBuilder) -> None:
    x = g.pick(ranked(1, 4))
    g.one("Tile", x, g.ints(*(g.source.integer(0, 10) % 3 for _ in range(g.rank(x)))))


def add_pad(g: GraphBuilder) -> None:
    x = g.pick(lambda array: 0 < array.ndim < 5 and array.dtype in FLOATS and min(array.shape) > 2)
    mode = g.source.choice(("constant", "reflect", "edge", "wrap"))
    low = -1 if mode == "constant" else 0
    count = g.source.integer(1, g.rank(x))
    axes = g.source.shuffled(range(g.rank(x)))[:count]
    pads = g.ints(*(g.source.integer(low, 2) for _ in range(2 * count)))
    value = g.constant(np.array(1.5, g.dtype(x))) if mode == "constant" and g.source.chance(40) else ""
    g.one("Pad", x, pads, value, g.ints(*(g.maybe_negative(a, g.rank(x)) for a in axes)), mode=mode)


def add_depth_to_space(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.ndim == 4 and array.shape[1] % 4 == 0 and array.size > 0)
    g.one("DepthToSpace", x, blocksize=2, mode=g.source.choice(("DCR", "CRD")))


def add_space_to_depth(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.ndim == 4 and array.size > 0 and not any(d % 2 for d in array.shape[2:]))
    g.one("SpaceToDepth", x, blocksize=2)


def add_trilu(g: GraphBuilder) -> None:
    x = g.pick(lambda array: 2 <= array.ndim <= 4 and array.dtype in FLOATS)
    k = [g.constant(np.array(g.source.integer(-2, 2), np.int64))] if g.source.chance(60) else []
    g.one("Trilu", x, *k, upper=g.source.integer(0, 1))


def add_dropout(g: GraphBuilder) -> None:
    """Inference: ratio and mode left out or given, with or without the mask."""
    x = g.pick_float()
    ratio = g.constant(np.array(0.3, np.float32)) if g.source.chance(50) else ""
    mode = [g.constant(np.array(False))] if g.source.chance(50) else []
    inputs = [x, ratio, *mode] if ratio or mode else [x]
    g.add("Dropout", inputs, outputs=g.source.integer(1, 2))


def add_compress(g: GraphBuilder) -> None:
    x = g.pick(ranked(1, 4))
    axis = g.axis(x)
    g.one("Compress", x, g.random_constant((g.shape(x)[axis],), BOOL), axis=axis)


def add_non_zero(g: GraphBuilder) -> None:
    g.one("NonZero", g.pick(lambda array: 0 < array.ndim < 4 and array.dtype in (*FLOATS, BOOL)))


def add_top_k(g: GraphBuilder) -> None:
    x = g.pick(lambda array: 0 < array.ndim < 4 and array.size > 0 and array.dtype == np.float32)
    axis = g.axis(x)
    k = g.ints(g.source.integer(1, g.shape(x)[axis]))
    g.add("TopK", [x, k], outputs=2, axis=axis, largest=g.source.integer(0, 1))


def add_one_hot(g: GraphBuilder) -> None:
    x = g.pick(lambda array: 0 < array.ndim < 3 and array.dtype == np.int64)
    depth = g.constant(np.array(g.source.integer(1, 5), np.int64))
    values = g.random_constant((2,), np.dtype(np.float32))
    g.one("OneHot", x, depth, values, axis=g.source.integer(-1, 0))


def add_identity(g: GraphBuilder) -> None:
    g.one("Identity", g.pick())
