"""d - Log(ReduceSum(Exp(d))), or x - ReduceLogSumExp(x) -> LogSoftmax(x; axis).

`d` is x - ReduceMax(x), or any value. The reductions are over one axis and keep it.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue

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


class LogSoftmaxFromPartsPattern(PatternOptimization):
    """A decomposed LogSoftmax becomes the op."""

    min_opset: ClassVar[int] = 13
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.ReduceSumOp, onnx.ReduceLogSumExpOp)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.ReduceSumOp | onnx.ReduceLogSumExpOp)
        inside: tuple[Operation, ...] = (op,)
        value, logarithm = op.data, op.reduced
        if isinstance(op, onnx.ReduceSumOp):
            exp, log = graph.producer_of(op.data, onnx.ExpOp), graph.only_consumer(op.reduced)
            if exp is None or not isinstance(log, onnx.LogOp):
                return no_match(op, "no logarithm of a sum of exponentials, read by nothing else")
            if not graph.is_private(exp.output):
                return no_match(op, "the exponentials are read elsewhere")
            inside, value, logarithm = (exp, op, log), exp.input, log.output
        axes = reduced_axes(graph, op)
        if isinstance(axes, Miss):
            return axes
        if len(axes) != 1:
            return no_match(op, "the sum is over several axes")
        sub = graph.only_consumer(logarithm)
        if not isinstance(sub, onnx.SubOp) or sub.A is not value:
            return no_match(op, "the logarithm is not subtracted from what the exponentials are of")
        data, shift = without_shift(graph, value, axes[0], (inside[0], sub))
        return MatchResult((*shift, *inside, sub), data=(data, axes[0]))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        found: tuple[SSAValue, int] = match.data
        data, axis = found
        sub = match.ops[-1]
        assert isinstance(sub, onnx.SubOp)
        fused = graph.make(onnx.LogSoftmaxOp, [data], result_types=[sub.C.type], name_from=sub, axis=axis)
        return Replacement([fused], {sub.C: fused.output})
