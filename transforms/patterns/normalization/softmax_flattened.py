"""Reshape(Softmax(Flatten(x; axis=rank - 1); axis=-1), shape of x) -> Softmax(x; axis=-1).

So a Softmax before opset 13 over the last axis is upgraded. LogSoftmax and Hardmax alike; without the Reshape
to the shape of `x` there is nothing to gain.
"""

from __future__ import annotations

from typing import ClassVar, Final

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import bool_attr, int_attr
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    PatternOptimization,
    Replacement,
    no_match,
)

_OVER_ROWS: Final = (onnx.SoftmaxOp, onnx.LogSoftmaxOp, onnx.HardmaxOp)


class SoftmaxFlattenedPattern(PatternOptimization):
    """A Softmax of flattened rows becomes one of the rows as they are."""

    priority: ClassVar[int] = 0
    min_opset: ClassVar[int] = 13
    start_ops: ClassVar[tuple[type[Operation], ...]] = _OVER_ROWS

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, _OVER_ROWS)
        if int_attr(op, "axis") not in (-1, 1):
            return no_match(op, "the axis is not the last one")
        flatten = graph.producer_of(op.input, onnx.FlattenOp)
        if flatten is None:
            return no_match(op, "the input is not flattened")
        rank = graph.rank(flatten.input)
        if not rank or int_attr(flatten, "axis") % rank != rank - 1 or int_attr(flatten, "axis") == rank:
            return no_match(op, "more than the last axis is flattened into the rows")
        reshape = graph.only_consumer(op.output)
        if not isinstance(reshape, onnx.ReshapeOp) or reshape.data is not op.output:
            return no_match(op, "the result is not reshaped alone")
        if not graph.same_shape(reshape.reshaped, flatten.input):
            return no_match(op, "the result may get another shape than the input had")
        if not bool_attr(reshape, "allowzero") and graph.static_shape(flatten.input) is None:
            # A dim of 0 in the shape stands for one of the flattened rows.
            return no_match(op, "of an empty input the result may get another shape")
        return MatchResult((op, reshape), (flatten,), data=flatten.input)

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        old, reshape = match.ops
        assert isinstance(old, _OVER_ROWS) and isinstance(reshape, onnx.ReshapeOp)
        types = [reshape.reshaped.type]
        softmax = graph.make(type(old), [match.data], result_types=types, name_from=old, axis=-1)
        return Replacement([softmax], {reshape.reshaped: softmax.results[0]})
