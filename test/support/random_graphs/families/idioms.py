"""Decomposed spellings of standard ops, some of them off by a detail."""

from __future__ import annotations

import math

import numpy as np

from random_graphs.builder import FLOATS, GraphBuilder, Refused

WEIGHT = 5

HALF, ONE = 0.5, 1.0


def scalar(g: GraphBuilder, x: str, value: float) -> str:
    """A constant of the type of `x`: of rank 0, or of one element."""
    # One time in twelve another number: the spelling looks right and is not.
    given = value * 1.25 if g.source.chance(8) else value
    return g.constant(np.full(g.source.choice(((), (1,))), given, g.dtype(x)))


def either(g: GraphBuilder, op: str, a: str, b: str) -> str:
    """A commutative op with its operands in either order."""
    return g.one(op, a, b) if g.source.chance(65) else g.one(op, b, a)


def float_input(g: GraphBuilder, rank: int = 1) -> str:
    return g.pick(lambda array: array.dtype in FLOATS and array.ndim >= rank and array.size > 0)


def square(g: GraphBuilder, x: str) -> str:
    return either(g, "Mul", x, x) if g.source.chance(30) else g.one("Pow", x, scalar(g, x, 2.0))


def trailing_axes(g: GraphBuilder, x: str) -> list[int]:
    """Mostly the last axis; sometimes several, or another."""
    rank = g.rank(x)
    if g.source.chance(65):
        return [g.source.choice((-1, rank - 1))]
    if g.source.chance(50):
        return list(range(g.source.integer(0, rank - 1), rank))
    return [g.axis(x)]


def mean(g: GraphBuilder, x: str, axes: list[int]) -> str:
    keep = {} if g.source.chance(30) else {"keepdims": 1}
    return g.one("ReduceMean", x, g.ints(*axes), **keep)


def divided(g: GraphBuilder, x: str, by: str) -> str:
    if g.source.chance(60):
        return g.one("Div", x, by)
    inverse = g.one("Reciprocal", by) if g.source.chance(50) else g.one("Div", scalar(g, by, ONE), by)
    return either(g, "Mul", x, inverse)


def add_layer_norm(g: GraphBuilder) -> None:
    x = float_input(g)
    axes = trailing_axes(g, x)
    centred = g.one("Sub", x, mean(g, x, axes))
    again = centred if g.source.chance(80) else g.one("Sub", x, mean(g, x, axes))
    variance = mean(g, square(g, again), axes)
    if g.source.chance(90):
        variance = either(g, "Add", variance, scalar(g, x, g.source.choice((1e-5, 1e-3))))
    y = divided(g, centred, g.one("Sqrt", variance))
    shape = g.shape(x)[axes[0] % g.rank(x) :]
    if g.source.chance(70):
        y = either(g, "Mul", y, g.random_constant(shape, g.dtype(x)))
    if g.source.chance(60):
        y = either(g, "Add", y, g.random_constant(shape if g.source.chance(80) else (1,), g.dtype(x)))


def add_rms_norm(g: GraphBuilder) -> None:
    x = float_input(g)
    axes = trailing_axes(g, x)
    power = either(g, "Add", mean(g, square(g, x), axes), scalar(g, x, 1e-5))
    y = divided(g, x, g.one("Sqrt", power))
    if g.source.chance(60):
        either(g, "Mul", y, g.random_constant(g.shape(x)[-1:], g.dtype(x)))


def add_gelu_erf(g: GraphBuilder) -> None:
    x = float_input(g, 0)
    root = math.sqrt(2)
    inner = g.one("Div", x, scalar(g, x, root)) if g.source.chance(60) else g.one(
        "Mul", x, scalar(g, x, 1 / root)
    )  # fmt: skip
    bracket = either(g, "Add", g.one("Erf", inner), scalar(g, x, ONE))
    _half_times(g, x, bracket)


def _half_times(g: GraphBuilder, x: str, bracket: str) -> None:
    match g.source.integer(0, 2):
        case 0:
            either(g, "Mul", either(g, "Mul", x, bracket), scalar(g, x, HALF))
        case 1:
            either(g, "Mul", either(g, "Mul", x, scalar(g, x, HALF)), bracket)
        case _:
            either(g, "Mul", x, either(g, "Mul", bracket, scalar(g, x, HALF)))


def add_gelu_tanh(g: GraphBuilder) -> None:
    x = float_input(g, 0)
    cube = g.one("Pow", x, scalar(g, x, 3.0)) if g.source.chance(60) else g.one("Mul", g.one("Mul", x, x), x)
    inner = either(g, "Add", x, either(g, "Mul", cube, scalar(g, x, 0.044715)))
    bent = g.one("Tanh", either(g, "Mul", inner, scalar(g, x, math.sqrt(2 / math.pi))))
    _half_times(g, x, either(g, "Add", bent, scalar(g, x, ONE)))


def add_swish(g: GraphBuilder) -> None:
    x = float_input(g, 0)
    inner = either(g, "Mul", x, scalar(g, x, 1.702)) if g.source.chance(25) else x
    either(g, "Mul", x, g.one("Sigmoid", inner))


def add_sigmoid(g: GraphBuilder) -> None:
    x = float_input(g, 0)
    below = either(g, "Add", g.one("Exp", g.one("Neg", x)), scalar(g, x, ONE))
    g.one("Div", scalar(g, x, ONE), below) if g.source.chance(50) else g.one("Reciprocal", below)


def add_hard_swish(g: GraphBuilder) -> None:
    x = float_input(g, 0)
    shifted = either(g, "Add", x, scalar(g, x, 3.0))
    clipped = g.one("Clip", shifted, *(g.constant(np.array(v, g.dtype(x))) for v in (0.0, 6.0)))
    if g.source.chance(50):
        g.one("Div", either(g, "Mul", x, clipped), scalar(g, x, 6.0))
    else:
        either(g, "Mul", x, g.one("Div", clipped, scalar(g, x, 6.0)))


def add_hard_sigmoid(g: GraphBuilder) -> None:
    x = float_input(g, 0)
    either(g, "Mul", x, g.one("HardSigmoid", x, alpha=1 / 6, beta=g.source.choice((0.5, 0.4))))


def add_mish(g: GraphBuilder) -> None:
    x = float_input(g, 0)
    soft = g.one("Softplus", x) if g.source.chance(50) else g.one(
        "Log", either(g, "Add", g.one("Exp", x), scalar(g, x, ONE))
    )  # fmt: skip
    either(g, "Mul", x, g.one("Tanh", soft))


def add_leaky_relu(g: GraphBuilder) -> None:
    x = float_input(g, 0)
    above = g.one(g.source.choice(("Greater", "GreaterOrEqual")), x, scalar(g, x, 0.0))
    scaled = either(g, "Mul", x, scalar(g, x, g.source.choice((0.1, 0.2))))
    g.one("Where", above, *((x, scaled) if g.source.chance(85) else (scaled, x)))


def add_max_relu(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.dtype in (*FLOATS, np.int32, np.int64))
    either(g, "Max", x, scalar(g, x, 0.0))


def add_softmax_parts(g: GraphBuilder) -> None:
    """Of numbers: Softmax gives NaN for a row with an infinity, its parts do for some elements only."""
    x = float_input(g)
    if not np.isfinite(g.array(x)).all():
        raise Refused
    axis = trailing_axes(g, x)[:1]
    axes = g.ints(*axis)
    stable = g.source.chance(70)
    shifted = g.one("Sub", x, g.one("ReduceMax", x, axes, keepdims=1)) if stable else x
    raised = g.one("Exp", shifted)
    total = g.one("ReduceSum", raised, axes, keepdims=1)
    if g.source.chance(30):
        g.one("Sub", shifted, g.one("Log", total))
    else:
        divided(g, raised, total)


def add_log_of_softmax(g: GraphBuilder) -> None:
    x = float_input(g)
    g.one("Log", g.one("Softmax", x, axis=g.axis(x)))


def add_softplus(g: GraphBuilder) -> None:
    x = float_input(g, 0)
    g.one("Log", either(g, "Add", g.one("Exp", x), scalar(g, x, ONE)))


def add_group_norm(g: GraphBuilder) -> None:
    """Reshape, InstanceNormalization, Reshape back, then scale and bias per channel."""
    x = g.pick(lambda a: a.dtype == np.float32 and a.ndim in (3, 4) and a.size > 0)
    channels = g.shape(x)[1]
    groups = g.source.choice([d for d in range(1, channels + 1) if channels % d == 0])
    flat = g.one("Reshape", x, g.ints(0, groups, -1))
    scale, bias = (g.constant(np.full((groups,), v, np.float32)) for v in (1.0, 0.0))
    normal = g.one("InstanceNormalization", flat, scale, bias, epsilon=1e-5)
    back = g.one("Reshape", normal, g.one("Shape", x) if g.source.chance(60) else g.ints(*g.shape(x)))
    tail = [1] * (g.rank(x) - 2)
    scaled = either(g, "Mul", back, g.random_constant((channels, *tail), g.dtype(x)))
    either(g, "Add", scaled, g.random_constant((channels, *tail), g.dtype(x)))
