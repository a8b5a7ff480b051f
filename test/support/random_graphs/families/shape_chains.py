"""Arithmetic on shapes, and ops that take the shapes it gives."""

from __future__ import annotations

import math

import numpy as np

from random_graphs.builder import FLOATS, MAX_SIZE, Fits, GraphBuilder, Refused

WEIGHT = 4


def pick_sizes(g: GraphBuilder, fits: Fits = lambda array: True) -> str:
    """An int64 vector or scalar that steps of this file may treat as sizes."""
    return g.pick(
        lambda array: array.dtype == np.int64 and array.ndim <= 1 and array.size < 7 and fits(array)
    )


def add_shape(g: GraphBuilder) -> None:
    x = g.pick()
    rank = g.rank(x)
    given = {}
    if g.source.chance(40):
        given["start"] = g.source.integer(-rank - 1, rank)
    if g.source.chance(40):
        given["end"] = g.source.integer(-rank - 1, rank + 1)
    g.one("Shape", x, **given)


def add_size(g: GraphBuilder) -> None:
    g.one("Size", g.pick())


def one_dim(g: GraphBuilder, x: str) -> str:
    """One dim of `x` as a vector of one element, in one of the spellings exporters use."""
    axis = g.source.integer(0, g.rank(x) - 1)
    match g.source.integer(0, 3):
        case 0:
            return g.one("Shape", x, start=axis, end=axis + 1)
        case 1:
            return g.one("Slice", g.one("Shape", x), g.ints(axis), g.ints(axis + 1), g.ints(0))
        case 2:
            index = g.constant(np.array(g.maybe_negative(axis, g.rank(x)), np.int64))
            scalar = g.one("Gather", g.one("Shape", x), index, axis=0)
            return g.one("Unsqueeze", scalar, g.ints(0))
        case _:
            return g.one("Gather", g.one("Shape", x), g.ints(axis), axis=0)


def add_reshape_by_dims(g: GraphBuilder) -> None:
    """Shape -> Gather -> Concat -> Reshape, keeping the first dims and merging the rest."""
    x = g.pick(lambda array: 0 < array.ndim < 5 and array.size > 0)
    kept = g.source.integer(1, g.rank(x))
    parts = [
        g.one("Shape", x, start=i, end=i + 1) if g.source.chance(40) else _dim(g, x, i) for i in range(kept)
    ]
    if g.source.chance(30):
        parts = [g.one("ReduceProd", g.one("Concat", *parts, axis=0), g.ints(0), keepdims=1)]
    target = g.one("Concat", *parts, g.ints(-1), axis=0)
    g.one("Reshape", x, target)


def _dim(g: GraphBuilder, x: str, axis: int) -> str:
    index = g.constant(np.array(axis, np.int64))
    return g.one("Unsqueeze", g.one("Gather", g.one("Shape", x), index), g.ints(0))


def add_reshape_back(g: GraphBuilder) -> None:
    """Flatten, an op in between, and back to the shape before."""
    x = g.pick(lambda array: 0 < array.ndim < 5 and array.dtype in FLOATS and array.size > 0)
    flat = g.one("Reshape", x, g.ints(-1))
    middle = g.one(g.source.choice(("Relu", "Neg", "Identity")), flat)
    g.one("Reshape", middle, g.one("Shape", x))


def add_dim(g: GraphBuilder) -> None:
    one_dim(g, g.pick(lambda array: 0 < array.ndim < 5))


def add_size_arithmetic(g: GraphBuilder) -> None:
    x = pick_sizes(g)
    op = g.source.choice(("Add", "Sub", "Mul", "Div", "Max", "Min", "Mod"))
    other = g.constant(np.full(g.source.choice(((), (1,))), g.source.integer(1, 4), np.int64))
    g.one(op, *((x, other) if op in ("Div", "Mod", "Sub") or g.source.chance(60) else (other, x)))


def add_size_of_float(g: GraphBuilder) -> None:
    """As resizing layers write it: to float, scaled, floored, and back."""
    x = pick_sizes(g, lambda array: bool(np.all(np.abs(array) < 1000)))
    scaled = g.one(
        "Mul", g.one("Cast", x, to=1), g.constant(np.array(g.source.choice((2.0, 0.5)), np.float32))
    )
    g.one("Cast", g.one(g.source.choice(("Floor", "Ceil")), scaled), to=7)


def add_size_concat(g: GraphBuilder) -> None:
    vector = lambda array: array.ndim == 1  # noqa: E731
    parts = [
        pick_sizes(g, vector) if g.source.chance(70) else g.ints(g.source.integer(1, 3)) for _ in range(2)
    ]
    g.one("Concat", *parts, axis=0)


def add_size_choice(g: GraphBuilder) -> None:
    """Where(Equal(size, k), a, size): the form of Expand's own exporters."""
    x = pick_sizes(g)
    k = g.constant(np.array(g.source.integer(-1, 3), np.int64))
    g.one("Where", g.one("Equal", x, k), g.constant(np.array(1, np.int64)), x)


def add_fill(g: GraphBuilder) -> None:
    target = pick_sizes(g, lambda array: array.ndim == 1 and _is_shape(array))
    if g.source.chance(40):
        g.one("ConstantOfShape", target)
        return
    from onnx import helper

    value = g.source.choice((1, 5, 7, 9))
    g.one("ConstantOfShape", target, value=helper.make_tensor("value", value, [1], [1]))


def add_expand_to(g: GraphBuilder) -> None:
    target = pick_sizes(g, lambda array: array.ndim == 1 and _is_shape(array))
    shape = tuple(int(d) for d in g.array(target))

    def fits(array: np.ndarray) -> bool:
        try:
            return math.prod(np.broadcast_shapes(array.shape, shape)) <= MAX_SIZE
        except ValueError:
            return False

    g.one("Expand", g.pick(fits), target)


def add_expand_like(g: GraphBuilder) -> None:
    """Expand to the shape of another value, then an op with it: the Expand does nothing."""
    x = g.pick(lambda array: array.ndim > 0 and array.dtype in FLOATS)
    small = g.random_constant([d if g.source.chance(50) else 1 for d in g.shape(x)], g.dtype(x))
    wide = g.one("Expand", small, g.one("Shape", x))
    g.one(g.source.choice(("Add", "Mul", "Sub")), *g.source.shuffled([wide, x]))


def add_reshape_to(g: GraphBuilder) -> None:
    target = pick_sizes(g, lambda array: array.ndim == 1 and _is_shape(array))
    size = math.prod(int(d) for d in g.array(target))
    if 0 in g.array(target):
        raise Refused
    g.one("Reshape", g.pick(lambda array: array.size == size), target)


def add_range(g: GraphBuilder) -> None:
    limit = pick_sizes(g, lambda array: array.size == 1 and 0 <= int(array.reshape(-1)[0]) < 20)
    scalar = limit if not g.rank(limit) else g.one("Squeeze", limit)
    start, step = (g.constant(np.array(g.source.choice(v), np.int64)) for v in ((0, 1, 5), (1, 2)))
    g.one("Range", start, scalar, step)


def add_slice_by_size(g: GraphBuilder) -> None:
    x = g.pick(lambda array: 0 < array.ndim < 5)
    end = pick_sizes(g, lambda array: array.shape == (1,))
    g.one("Slice", x, g.ints(0), end, g.ints(g.axis(x)))


def add_split_by_size(g: GraphBuilder) -> None:
    """Halves: the first by the computed size, the second by what is left."""
    x = g.pick(lambda array: 0 < array.ndim < 5 and array.shape[-1] > 1)
    whole = g.one("Shape", x, start=-1)
    half = g.one("Div", whole, g.ints(2))
    rank = g.ints(g.rank(x) - 1)
    g.one("Slice", x, g.ints(0), half, rank)
    g.one("Slice", x, half, g.ints(2**63 - 1), rank)


def _is_shape(array: np.ndarray) -> bool:
    return array.size < 5 and all(0 <= int(d) <= 64 for d in array) and math.prod(map(int, array)) <= MAX_SIZE
