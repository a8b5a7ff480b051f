"""Exp(x - ReduceMax(x)) / ReduceSum(Exp(x - ReduceMax(x))) -> Softmax(x; axis).

Both reductions are over one axis and keep it. Without the shift by the maximum the same: Softmax shifts by
itself, so large numbers that overflowed no longer do.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.normalization.shift import without_shift
from onnxloom.transforms.patterns.reduced_axes import reduced_axes
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    Numerics,
    PatternOptimization,
    Replacement,
    no_match,
)


class SoftmaxFromPartsPattern(PatternOptimization):
    """A decomposed Softmax becomes the op."""

    min_opset: ClassVar[int] = 13
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.ReduceSumOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.ReduceSumOp)
        exp = graph.producer_of(op.data, onnx.ExpOp)
        if exp is None:
            return no_match(op, "the sum is not of exponentials")
        div = graph.only_consumer(op.reduced)
        if not isinstance(div, onnx.DivOp) or div.A is not exp.output or div.B is not op.reduced:
            return no_match(op, "the sum does not divide the exponentials alone")
        if not graph.is_used_only_by(exp.output, (op, div)):
            return no_match(op, "the exponentials are read elsewhere")
        axes = reduced_axes(graph, op)
        if isinstance(axes, Miss):
            return axes
        if len(axes) != 1:
            return no_match(op, "the sum is over several axes")
        data, shift = without_shift(graph, exp.input, axes[0], (exp,))
        return MatchResult((*shift, exp, op, div), data=(data, axes[0]))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        data, axis = match.data
        div = match.ops[-1]
        assert isinstance(div, onnx.DivOp)
        softmax = graph.make(onnx.SoftmaxOp, [data], result_types=[div.C.type], name_from=div, axis=axis)
        return Replacement([softmax], {div.C: softmax.output})
