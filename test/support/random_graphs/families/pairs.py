"""Ops that undo, repeat or swallow one another: what exact rewrites look for, and what only looks like it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from random_graphs.builder import BOOL, FLOATS, INTEGERS, GraphBuilder, Refused
from random_graphs.families.elementwise import broadcast_partner, broadcastable, cast
from random_graphs.families.movement import target_shape
from random_graphs.values import proto_type

WEIGHT = 5


def add_casts(g: GraphBuilder) -> None:
    x = g.pick()
    for _ in range(g.source.integer(2, 3)):
        x = cast(g, x)


def add_cast_there_and_back(g: GraphBuilder) -> None:
    """An op computed in another float type."""
    x = g.pick_float()
    wide = g.one("Cast", x, to=proto_type(g.source.choice(FLOATS)))
    result = g.one(g.source.choice(("Relu", "Neg", "Tanh", "Sqrt", "Identity")), wide)
    g.one("Cast", result, to=proto_type(g.dtype(x)))


def add_clips(g: GraphBuilder) -> None:
    x = g.pick_float()
    for _ in range(2):
        if g.source.chance(25):
            x = g.one("Relu", x)
            continue
        low, high = (g.constant(np.array(g.source.integer(-3, 3) / 2, g.dtype(x))) for _ in range(2))
        x = g.one("Clip", x, low if g.source.chance(80) else "", high if g.source.chance(80) else "")


def add_transposes(g: GraphBuilder) -> None:
    """Twice; inverse of one another or not; with an op between or not."""
    x = g.pick(lambda array: 2 <= array.ndim <= 4)
    first = g.source.shuffled(range(g.rank(x)))
    middle = g.one("Transpose", x, perm=first)
    if g.dtype(x) in FLOATS and g.source.chance(40):
        middle = g.one(g.source.choice(("Relu", "Softmax", "Neg")), middle)
    inverse = [first.index(axis) for axis in range(g.rank(x))]
    second = inverse if g.source.chance(60) else g.source.shuffled(range(g.rank(x)))
    g.one("Transpose", middle, perm=second)


def add_reshapes(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.size > 0)
    for _ in range(2):
        x = g.one("Reshape", x, g.constant(np.array(target_shape(g, g.shape(x)), np.int64)))


def add_unsqueeze_squeeze(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.ndim < 4)
    rank = g.rank(x) + 1
    axis = g.source.integer(0, rank - 1)
    wide = g.one("Unsqueeze", x, g.ints(g.maybe_negative(axis, rank)))
    if g.source.chance(30):
        wide = g.one("Unsqueeze", wide, g.ints(g.source.integer(0, rank)))
    ones = [i for i, dim in enumerate(g.shape(wide)) if dim == 1]
    back = axis if g.source.chance(60) and axis in ones else g.source.choice(ones)
    g.one("Squeeze", wide, g.ints(g.maybe_negative(back, g.rank(wide))))


def add_slices(g: GraphBuilder) -> None:
    """Slices that cut a value into parts, or leave gaps, or overlap; perhaps joined again."""
    x = g.pick(lambda array: 0 < array.ndim < 5 and max(array.shape) > 1)
    axis = g.axis(x)
    dim = g.shape(x)[axis]
    cut = g.source.integer(0, dim)
    second = cut if g.source.chance(70) else g.source.integer(0, dim)
    end = g.source.choice((dim, 2**63 - 1))
    parts = [g.one("Slice", x, g.ints(a), g.ints(b), g.ints(axis)) for a, b in ((0, cut), (second, end))]
    if g.source.chance(50):
        g.one("Concat", *(parts if g.source.chance(70) else parts[::-1]), axis=axis)


def add_split_concat(g: GraphBuilder) -> None:
    x = g.pick(lambda array: 0 < array.ndim < 5 and max(array.shape) > 1)
    axis = int(np.argmax(g.shape(x)))
    parts = g.add("Split", [x], outputs=2, axis=axis, num_outputs=2)
    again = axis if g.source.chance(70) else g.axis(x)
    g.one("Concat", *(parts if g.source.chance(70) else parts[::-1]), axis=again)


def add_concats(g: GraphBuilder) -> None:
    x = g.pick(lambda array: 0 < array.ndim < 5)
    axis = g.axis(x)
    inner = g.one("Concat", x, x, axis=axis) if g.source.chance(70) else g.one("Concat", x, axis=axis)
    outer = axis if g.source.chance(70) else g.axis(x)
    fits = g.shape(x)[: outer % g.rank(x)] == g.shape(inner)[: outer % g.rank(x)]
    g.one("Concat", *([inner, x] if outer == axis and fits else [inner, inner]), axis=outer)


def add_neutral(g: GraphBuilder) -> None:
    """x + 0, x * 1, x / 1, x ** 1, ...; or nearly: another number, a wider constant."""
    x = g.pick(lambda array: array.dtype in (*FLOATS, *INTEGERS))
    op, unit = g.source.choice((("Add", 0), ("Mul", 1), ("Sub", 0), ("Div", 1), ("Pow", 1), ("Mul", 0)))
    value = unit if g.source.chance(70) else g.source.choice((2, 3))
    negative_zero = g.dtype(x) in FLOATS and not value and g.source.chance(50)
    shape = broadcastable(g, g.shape(x))
    other = g.constant(np.full(shape, -0.0 if negative_zero else value, g.dtype(x)))
    g.one(op, *((other, x) if op in ("Add", "Mul") and g.source.chance(50) else (x, other)))


def add_twice(g: GraphBuilder) -> None:
    """Neg(Neg(x)), Not(Not(x)), Abs(Abs(x)), Relu(Relu(x)), ..."""
    x = g.pick(lambda array: array.dtype in FLOATS or array.dtype == BOOL)
    ops = (
        ("Not",) if g.dtype(x) == BOOL else ("Neg", "Abs", "Relu", "Reciprocal", "Floor", "Identity", "Sign")
    )
    op = g.source.choice(ops)
    g.one(op, g.one(op, x))


def add_scaled(g: GraphBuilder) -> None:
    """Factors and summands by constants, one after the other."""
    x = g.pick_float()
    for _ in range(g.source.integer(2, 3)):
        other = g.random_constant(broadcastable(g, g.shape(x)), g.dtype(x))
        inputs = [x, other] if g.source.chance(60) else [other, x]
        x = g.one(g.source.choice(("Add", "Mul", "Sub", "Div")), *inputs)


def add_matmul_of_transposes(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.dtype == np.float32 and array.ndim == 2 and array.size > 0)
    turned = g.one("Transpose", x, perm=[1, 0])
    inputs = [turned, x] if g.source.chance(50) else [x, turned]
    product = g.one("MatMul", *inputs)
    match g.source.integer(0, 2):
        case 0:
            g.one("Transpose", product, perm=[1, 0])
        case 1:
            g.one("Add", product, g.random_constant(g.shape(product)[-1:], g.dtype(x)))
        case _:
            g.one("Mul", product, g.constant(np.array(0.5, np.float32)))


UNLIKE = ("Constant", "If", "Loop", "Scan", "Optional")


def _is_tensor(g: GraphBuilder) -> Callable[[str], bool]:
    return lambda name: not name or isinstance(g.values()[name], np.ndarray)


def add_same_again(g: GraphBuilder) -> None:
    """A node that computes what another one did, and an op that reads both."""
    nodes = [n for n in g.nodes if n.op_type not in UNLIKE and all(map(_is_tensor(g), n.output))]
    if not nodes:
        raise Refused
    node = g.source.choice(nodes)
    copy = type(node).FromString(node.SerializeToString())
    copy.name = ""
    copy.output[:] = [g.fresh() if name else "" for name in node.output]
    g.add_node(copy)
    first, second = node.output[0], copy.output[0]
    if g.dtype(first) in FLOATS:
        g.one(g.source.choice(("Add", "Sub", "Mul")), first, second)


def add_equal_constants(g: GraphBuilder) -> None:
    """Constants of the same bits, or only of the same values (0.0 and -0.0), for two readers."""
    x = g.pick_float()
    shape = broadcastable(g, g.shape(x))
    a = np.zeros(shape, g.dtype(x)) if g.source.chance(40) else np.full(shape, 1.5, g.dtype(x))
    b = -a if g.source.chance(30) else a.copy()
    for value in (a, b):
        name = g.fresh("c")
        from onnx import helper

        tensor = helper.make_tensor(name, proto_type(a.dtype), a.shape, value.tobytes(), raw=True)
        g.initializers.append(tensor)
        g.arrays[name] = value
        g.one(g.source.choice(("Div", "Add", "Mul")), x, name)


def add_expanded_operand(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.dtype in FLOATS and 0 < array.ndim < 5)
    y = broadcast_partner(g, x)
    shape = np.broadcast_shapes(g.shape(x), g.shape(y))
    if math.prod(shape) == 0 and g.source.chance(80):
        raise Refused
    wide = g.one("Expand", x, g.ints(*(shape if g.source.chance(70) else g.shape(x))))
    g.one(g.source.choice(("Add", "Mul", "Pow", "Sub")), *((wide, y) if g.source.chance(60) else (y, wide)))
