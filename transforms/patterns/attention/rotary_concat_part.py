"""Concat(p, 0) + Concat(0, q) -> Concat(p, q).

Along one axis, the zeros of each side as long as the part of the other: so exporters put the two rotated
halves of a value together. A part of -0.0 becomes 0.0 in the sum and stays -0.0 in the result.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    Numerics,
    PatternOptimization,
    Replacement,
    no_match,
)


class RotaryConcatPartPattern(PatternOptimization):
    """Two parts that are padded with zeros and added are joined instead."""

    min_opset: ClassVar[int] = 4
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.AddOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.AddOp)
        concats = [graph.producer_of(side, onnx.ConcatOp) for side in op.operands]
        left, right = concats
        if left is None or right is None or len(left.inputs) != 2 or len(right.inputs) != 2:
            return no_match(op, "the sum is not of two joined pairs")
        if left is right:
            return no_match(op, "a pair is added to itself")
        rank = graph.rank(left.concat_result)
        if not rank or rank != graph.rank(right.concat_result):
            return no_match(op, "the pairs have not the same rank")
        axis = int_attr(left, "axis") % rank
        if axis != int_attr(right, "axis") % rank:
            return no_match(op, "the pairs are joined along different axes")
        if not graph.same_shape(left.concat_result, right.concat_result):
            return no_match(op, "the pairs may be broadcast")
        first = left if _is_zero(graph, left.inputs[1]) else right
        second = right if first is left else left
        if not _is_zero(graph, first.inputs[1]) or not _is_zero(graph, second.inputs[0]):
            return no_match(op, "there are no zeros on opposite sides")
        if not graph.same_dim(first.inputs[0], axis, second.inputs[0], axis):
            return no_match(op, "the zeros are not as long as the part of the other pair")
        if not all(graph.is_private(pair.concat_result) for pair in (first, second)):
            return no_match(op, "something else reads a pair")
        return MatchResult((left, right, op), data=(first.inputs[0], second.inputs[1], axis))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        add = match.ops[-1]
        assert isinstance(add, onnx.AddOp)
        first, second, axis = match.data
        types = [add.C.type]
        joined = graph.make(onnx.ConcatOp, [first, second], result_types=types, name_from=add, axis=axis)
        return Replacement([joined], {add.C: joined.concat_result})


def _is_zero(graph: GraphIndex, value: SSAValue) -> bool:
    """Whether all elements are 0."""
    fill = graph.producer_of(value, onnx.ConstantOfShapeOp)
    if fill is not None:
        element = constant_value(fill.value)
        return fill.value is None or (element is not None and not element.any())
    array = graph.constant(value)
    return array is not None and array.dtype.kind in "fiu" and not array.any()
