"""If, Loop and Scan, whose bodies grow by the same grammar and read values from around them."""

from __future__ import annotations

import numpy as np
from onnx import ValueInfoProto

from random_graphs.builder import BOOL, FLOATS, GraphBuilder, Refused
from random_graphs.growth import grow

WEIGHT = 2

MAX_DEPTH = 2


def _open_dims(g: GraphBuilder, body: GraphBuilder, name: str) -> ValueInfoProto:
    """What a subgraph says of an output: its shape, or that it has a rank."""
    shape = body.shape(name)
    return body.info(name, shape if g.source.chance(50) else [None] * len(shape))


def _body(g: GraphBuilder) -> GraphBuilder:
    if g.depth >= MAX_DEPTH:
        raise Refused
    return GraphBuilder(g.shared, g)


def add_if(g: GraphBuilder) -> None:
    """Both branches give values of one type and shape; the condition is computed, an input or constant."""
    like = g.pick(lambda array: array.dtype in FLOATS and array.ndim < 5)
    count = g.source.integer(1, 2)
    branches = []
    for label in ("then", "else"):
        body = _body(g)
        if g.source.chance(70):
            grow(body, g.source.integer(1, 3))
        results = [_result_like(body, like) for _ in range(count)]
        branches.append(body.graph(f"{label}_{g.fresh('g')}", [_open_dims(g, body, r) for r in results]))
    if g.source.chance(40):
        condition = g.constant(np.array(g.source.chance(50)))
    else:
        condition = g.pick(lambda array: array.dtype == BOOL and array.ndim == 0)
    g.add("If", [condition], outputs=count, then_branch=branches[0], else_branch=branches[1])


def _result_like(body: GraphBuilder, like: str) -> str:
    """A value computed in the body, of the type and shape of `like`."""
    source = body.source
    x = body.pick(lambda a: a.dtype == body.dtype(like) and a.shape == body.shape(like))
    match source.integer(0, 3):
        case 0:
            return body.one(source.choice(("Neg", "Relu", "Abs")), x)
        case 1:
            return body.one(source.choice(("Add", "Mul")), x, body.random_constant((), body.dtype(like)))
        case 2:
            return body.one("Identity", x)
        case _:
            return body.one("Sub", x, like)


def add_loop(g: GraphBuilder) -> None:
    """A few trips, by count, condition or both; a carried value, one that is given out each time."""
    start = g.pick(lambda array: array.dtype in FLOATS and array.ndim < 4 and array.size < 100)
    trips = g.source.integer(0, 4)
    body = _body(g)
    step = _argument(body, np.array(0, np.int64))
    again = _argument(body, np.array(True))
    carried = _argument(body, g.array(start))
    if g.source.chance(70):
        grow(body, g.source.integer(1, 3))
    result = _result_like(body, carried)
    counts = g.source.chance(70)
    if not counts or g.source.chance(25):
        limit = body.constant(np.array(trips - 1, np.int64))
        again_out = body.one("Less", step, limit)
    else:
        again_out = body.one("Identity", again)
    outputs = [again_out, result]
    if trips and g.source.chance(50):
        outputs.append(body.one("Add", result, body.random_constant((), g.dtype(start))))
    graph = body.graph(g.fresh("g"), [body.info(name, body.shape(name)) for name in outputs])
    count = g.constant(np.array(trips, np.int64)) if counts else ""
    starts = len(outputs) > 2 or g.source.chance(80)  # a body that never runs does not say what it stacks
    go = g.constant(np.array(starts)) if not counts or g.source.chance(40) else ""
    g.add("Loop", [count, go, start], outputs=len(outputs) - 1, body=graph)


def _argument(body: GraphBuilder, array: np.ndarray) -> str:
    return body.input(array.dtype, array.shape, array)


def add_scan(g: GraphBuilder) -> None:
    """A running value over the slices of one or two inputs."""
    x = g.pick(lambda array: array.dtype in FLOATS and 1 < array.ndim < 4 and array.size > 0)
    axis = g.source.integer(0, g.rank(x) - 1)
    piece = np.take(g.array(x), 0, axis)
    start = g.random_constant(piece.shape, g.dtype(x))
    body = _body(g)
    state, item = _argument(body, g.array(start)), _argument(body, piece)
    if g.source.chance(60):
        grow(body, g.source.integer(1, 2))
    total = body.one(g.source.choice(("Add", "Mul", "Max")), state, item)
    given_out = _result_like(body, total)
    graph = body.graph(g.fresh("g"), [body.info(name, body.shape(name)) for name in (total, given_out)])
    options = {"scan_input_axes": [axis]} if axis or g.source.chance(30) else {}
    if g.source.chance(30):
        options["scan_input_directions"] = [1]
    if g.source.chance(30):
        options["scan_output_axes"] = [g.source.integer(0, g.rank(x) - 1)]
    if g.source.chance(30):
        options["scan_output_directions"] = [1]
    g.add("Scan", [start, x], outputs=2, body=graph, num_scan_inputs=1, **options)
