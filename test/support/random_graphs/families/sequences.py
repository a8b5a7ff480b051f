"""Tensors through sequences and back, as loops over parts are exported."""

from __future__ import annotations

import numpy as np

from random_graphs.builder import GraphBuilder

WEIGHT = 1


def add_split_and_pick(g: GraphBuilder) -> None:
    x = g.pick(lambda array: 0 < array.ndim < 4 and min(array.shape) > 0)
    axis = g.axis(x)
    parts = g.hidden("SplitToSequence", [x], axis=axis, keepdims=g.source.integer(0, 1))
    place = g.constant(np.array(g.source.integer(-1, 0), np.int64))
    g.one("SequenceAt", parts, place)
    if g.source.chance(40):
        g.one("SequenceLength", parts)


def add_build_and_join(g: GraphBuilder) -> None:
    x = g.pick(lambda array: 0 < array.ndim < 4)
    same = lambda array: array.shape == g.shape(x)  # noqa: E731
    parts = g.hidden("SequenceConstruct", [x, g.pick_like(x, same)])
    if g.source.chance(40):
        parts = g.hidden("SequenceInsert", [parts, x])
    g.one(
        "ConcatFromSequence", parts, axis=g.source.integer(0, g.rank(x) - 1), new_axis=g.source.integer(0, 1)
    )
