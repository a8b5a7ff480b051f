"""Optional values, sequences that are emptied and filled, functions mapped over sequences."""

from __future__ import annotations

import numpy as np
from onnx import helper

from random_graphs.builder import BOOL, FLOATS, INTEGERS, GraphBuilder
from random_graphs.values import proto_type

WEIGHT = 1

IN_SEQUENCES = (*FLOATS[:3], *INTEGERS, BOOL)
"""Element types that a sequence may start with: newer ones were left out of SequenceEmpty."""


def add_optional(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.dtype == np.float32)
    wrapped = g.hidden("Optional", [x])
    if g.source.chance(60):
        g.one("OptionalGetElement", wrapped)
    else:
        g.one("OptionalHasElement", wrapped)


def add_erase(g: GraphBuilder) -> None:
    x = g.pick(lambda array: 0 < array.ndim < 4)
    parts = g.hidden("SequenceConstruct", [x, x])
    place = g.constant(np.array(g.source.integer(-2, 1), np.int64))
    less = g.hidden("SequenceErase", [parts, place])
    g.one("SequenceAt", less, g.constant(np.array(0, np.int64)))


def add_insert_into_empty(g: GraphBuilder) -> None:
    x = g.pick(lambda array: 0 < array.ndim < 4 and array.dtype in IN_SEQUENCES)
    parts = g.hidden("SequenceEmpty", [], dtype=proto_type(g.dtype(x)))
    full = g.hidden("SequenceInsert", [parts, x])
    g.one("ConcatFromSequence", full, axis=0, new_axis=g.source.integer(0, 1))


def add_sequence_map(g: GraphBuilder) -> None:
    x = g.pick(lambda array: array.dtype == np.float32 and 0 < array.ndim < 4 and array.shape[0] > 0)
    parts = g.hidden("SplitToSequence", [x], axis=0, keepdims=1)
    inner, result = g.fresh(), g.fresh()
    node = helper.make_node(g.source.choice(("Neg", "Relu", "Shape")), [inner], [result])
    element = proto_type(np.dtype(np.int64)) if node.op_type == "Shape" else proto_type(g.dtype(x))
    body = helper.make_graph(
        [node],
        "map",
        [helper.make_tensor_value_info(inner, proto_type(g.dtype(x)), [None] * g.rank(x))],
        [helper.make_tensor_value_info(result, element, None)],
    )
    mapped = g.hidden("SequenceMap", [parts], body=body)
    g.one("ConcatFromSequence", mapped, axis=0)
