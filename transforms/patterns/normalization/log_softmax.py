"""Log(Softmax(x; axis)) -> LogSoftmax(x; axis).

Where the Softmax was rounded to 0, the result is finite instead of -inf.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    Numerics,
    PatternOptimization,
    Replacement,
    no_match,
)


class LogSoftmaxPattern(PatternOptimization):
    """The logarithm of a Softmax is one op."""

    min_opset: ClassVar[int] = 13
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.LogOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.LogOp)
        softmax = graph.producer_of(op.input, onnx.SoftmaxOp)
        if softmax is None:
            return no_match(op, "the logarithm is not of a Softmax")
        if not graph.is_private(softmax.output):
            return no_match(op, "the Softmax is read elsewhere")
        return MatchResult((softmax, op))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        softmax, log = match.ops
        assert isinstance(softmax, onnx.SoftmaxOp) and isinstance(log, onnx.LogOp)
        fused = graph.make(
            onnx.LogSoftmaxOp,
            [softmax.input],
            result_types=[log.output.type],
            name_from=log,
            axis=softmax.properties.get("axis"),
        )
        return Replacement([fused], {log.output: fused.output})
