"""Reductions over constant axes: the axes move.

With `keepdims` the result has a layout like the input. Without, it has one of its own when images and
channels remain; where they do not, the rest must come out in the order it had.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import bool_attr, int_attr, is_none
from onnxloom.transforms.layout.axes import Order, layout_rank, moved, order_without
from onnxloom.transforms.layout.editor import LayoutEditor, known_array
from onnxloom.transforms.layout.rule import Follow, LayoutRule
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.graph_index import GraphIndex

_ARGUMENTS = (onnx.ArgMaxOp, onnx.ArgMinOp)


class ReductionRule(LayoutRule):
    """Sums, means, extrema and their places."""

    ops: ClassVar[tuple[type[Operation], ...]] = (
        onnx.ReduceSumOp, onnx.ReduceMeanOp, onnx.ReduceMaxOp, onnx.ReduceMinOp, onnx.ReduceProdOp,
        onnx.ReduceL1Op, onnx.ReduceL2Op, onnx.ReduceLogSumOp, onnx.ReduceLogSumExpOp,
        onnx.ReduceSumSquareOp, *_ARGUMENTS,
    )  # fmt: skip

    def follow(self, graph: GraphIndex, op: Operation) -> Follow | Miss:
        data, result = op.operands[0], op.results[0]
        rank = layout_rank(data)
        if rank is None:
            return Miss("the input is no tensor of rank 3 to 5")
        axes = _axes(op, rank)
        if axes is None:
            return Miss("the axes are not constant, or there are none")
        if bool_attr(op, "keepdims"):
            return Follow((data,), (result,))
        order = order_without(axes, rank)
        if order is Order.OTHER:
            return Miss("what remains has an order of its own")
        return Follow((data,), (result,) if order is Order.LAST else ())

    def rewrite(self, editor: LayoutEditor, op: Operation, follow: Follow) -> None:
        data, result = op.operands[0], op.results[0]
        rank = layout_rank(data)
        assert rank is not None
        axes = _axes(op, rank)
        assert axes is not None
        places = sorted(moved(axis, rank) for axis in axes)
        types = None if follow.gives else [result.type]
        if isinstance(op, _ARGUMENTS):
            fresh = editor.like(op, [editor.last(data)], types, axis=places[0])
        else:
            operands = [editor.last(data), editor.constant(np.array(places, np.int64))]
            fresh = editor.like(op, operands, types)
        (editor.give if follow.gives else editor.replace)(result, fresh.results[0])


def _axes(op: Operation, rank: int) -> tuple[int, ...] | None:
    """The axes, counted from the front; None when they are not known or there are none to name."""
    if isinstance(op, _ARGUMENTS):
        return (int_attr(op, "axis") % rank,)
    if is_none(op.operands[1]):
        return None if bool_attr(op, "noop_with_empty_axes") else tuple(range(rank))
    array = known_array(op.operands[1])
    if array is None or array.size == 0:
        return None
    return tuple(int(axis) % rank for axis in array.reshape(-1))


RULES = (ReductionRule(),)
