"""Elementwise ops: arithmetic with broadcasting, functions of one value, bounds and choices."""

from __future__ import annotations

from typing import Any

import numpy as np

from random_graphs.builder import BOOL, FLOATS, INTEGERS, GraphBuilder, Refused
from random_graphs.values import array_of

WEIGHT = 6

FLOAT_UNARY = (
    "Neg", "Abs", "Relu", "Sqrt", "Exp", "Tanh", "Sigmoid", "Erf", "Floor", "Ceil", "Round", "Sign", "Log",
    "Reciprocal", "Sin", "Cos", "Softplus", "Softsign", "Mish", "HardSwish", "Identity", "Selu", "Shrink",
    "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Swish",
)  # fmt: skip
PARAMETRIC = {
    "LeakyRelu": "alpha", "Elu": "alpha", "Celu": "alpha", "ThresholdedRelu": "alpha", "HardSigmoid": "beta",
}  # fmt: skip
FLOAT_BINARY = ("Add", "Mul", "Sub", "Div", "Max", "Min", "Pow", "PRelu")
INT_BINARY = ("Add", "Mul", "Sub", "Max", "Min")


def broadcast_partner(g: GraphBuilder, x: str) -> str:
    """A value or constant of the same element type that broadcasts with `x`."""
    shape, dtype = g.shape(x), g.dtype(x)

    def fits(array: np.ndarray) -> bool:
        try:
            return len(np.broadcast_shapes(shape, array.shape)) < 6
        except ValueError:
            return False

    if g.source.chance(50):
        return g.pick_like(x, fits)
    return g.random_constant(broadcastable(g, shape), dtype)


def broadcastable(g: GraphBuilder, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to `shape`, or raises its rank by a leading 1."""
    if g.source.chance(30):
        return ()
    dims = [dim if g.source.chance(60) else 1 for dim in shape]
    if g.source.chance(40):
        return tuple(dims[g.source.integer(0, len(dims)) :])
    return (1, *dims) if g.source.chance(10) else tuple(dims)


def add_unary(g: GraphBuilder) -> None:
    g.one(g.source.choice(FLOAT_UNARY), g.pick_float())


def add_parametric(g: GraphBuilder) -> None:
    op = g.source.choice(tuple(PARAMETRIC))
    given = {PARAMETRIC[op]: g.source.choice((0.5, 0.1, 1.0))} if g.source.chance(60) else {}
    g.one(op, g.pick_float(), **given)


def add_gelu(g: GraphBuilder) -> None:
    g.one("Gelu", g.pick_float(), approximate=g.source.choice(("none", "tanh")))


def add_binary(g: GraphBuilder) -> None:
    x = g.pick_float()
    y = broadcast_partner(g, x)
    op = g.source.choice(FLOAT_BINARY)
    if op == "PRelu" and np.broadcast_shapes(g.shape(x), g.shape(y)) != g.shape(x):
        raise Refused  # a slope does not widen the input
    if op == "PRelu" or g.source.chance(70):
        g.one(op, x, y)
    else:
        g.one(op, y, x)


def add_integer_binary(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.dtype in INTEGERS)
    g.one(g.source.choice(INT_BINARY), x, broadcast_partner(g, x))


def add_integer_division(g: GraphBuilder) -> None:
    """A divisor that is not 0 and not -1: both are undefined for some dividend."""
    x = g.pick(lambda array: array.dtype in INTEGERS)
    divisor = g.constant(np.array(g.source.integer(2, 4), g.dtype(x)))
    g.one(g.source.choice(("Div", "Mod")), x, divisor)


def add_integer_unary(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.dtype in INTEGERS and array.dtype.kind == "i")
    g.one(g.source.choice(("Neg", "Abs", "Sign", "BitwiseNot", "Identity")), x)


def add_variadic(g: GraphBuilder) -> None:
    x = g.pick_float()
    inputs = [x, *(broadcast_partner(g, x) for _ in range(g.source.integer(0, 2)))]
    if g.source.chance(20):
        inputs.append(x)
    g.one(g.source.choice(("Max", "Min", "Sum", "Mean")), *g.source.shuffled(inputs))


def add_clip(g: GraphBuilder) -> None:
    """Bounds that are left out, constant or computed, in order or not."""
    x = g.pick(lambda array: array.dtype in (*FLOATS, *INTEGERS))
    dtype = g.dtype(x)

    def bound(low: int, high: int) -> str:
        if g.source.chance(20):
            return ""
        if g.source.chance(15):
            return g.pick_like(x, lambda array: array.ndim == 0)
        return g.constant(np.array(g.source.integer(low, high), dtype))

    g.one("Clip", x, bound(0, 1), bound(0, 3))


def add_where(g: GraphBuilder) -> None:
    x = g.pick()
    y = broadcast_partner(g, x)
    shape = np.broadcast_shapes(g.shape(x), g.shape(y))
    if g.source.chance(70):
        condition = g.pick(lambda array: array.dtype == BOOL and _broadcasts(array.shape, shape))
    else:
        condition = g.random_constant(broadcastable(g, shape), BOOL)
    g.one("Where", condition, *((x, y) if g.source.chance(50) else (y, x)))


def _broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    try:
        return len(np.broadcast_shapes(a, b)) < 6
    except ValueError:
        return False


def add_compare(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.dtype in (*FLOATS, *INTEGERS))
    op = g.source.choice(("Greater", "Less", "Equal", "GreaterOrEqual", "LessOrEqual"))
    g.one(op, x, broadcast_partner(g, x))


def add_logic(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.dtype == BOOL)
    op = g.source.choice(("Not", "And", "Or", "Xor"))
    g.one(op, *([x] if op == "Not" else [x, broadcast_partner(g, x)]))


def add_test(g: GraphBuilder) -> None:
    g.one(g.source.choice(("IsNaN", "IsInf")), g.pick_float())


def add_bits(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.dtype in INTEGERS)
    g.one(g.source.choice(("BitwiseAnd", "BitwiseOr", "BitwiseXor")), x, broadcast_partner(g, x))


def add_shift(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.dtype == np.uint8)
    amount = g.constant(np.array(g.source.integer(0, 7), np.uint8))
    g.one("BitShift", x, amount, direction=g.source.choice(("LEFT", "RIGHT")))


def add_cast(g: GraphBuilder) -> None:
    cast(g, g.pick())


def cast(g: GraphBuilder, x: str) -> str:
    """A cast whose result the standard defines: floats outside of an integer's range are not cast to it."""
    from random_graphs.values import proto_type

    array = g.array(x)
    to: np.dtype[Any] = g.source.choice((*FLOATS, *INTEGERS, BOOL))
    if to in INTEGERS:
        wide = array.astype(np.float64)
        bounds = np.iinfo(to.name)
        if array.dtype in FLOATS and not np.all((wide >= bounds.min) & (wide <= min(bounds.max, 2**31))):
            raise Refused
    if g.source.chance(15):
        like = g.constant(array_of(g.source, (1,), to, special=False))
        return g.one("CastLike", x, like)
    return g.one("Cast", x, to=proto_type(to))
