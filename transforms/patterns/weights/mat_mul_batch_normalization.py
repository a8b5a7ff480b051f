"""BatchNormalization(MatMul(x, W)) -> Gemm(x, s * W, t), for matrices: s and t per column.

Inference mode, all parameters constant, variance + epsilon positive: s = gamma / sqrt(variance + epsilon),
t = beta - mean * s. Of more than two dims, the channels of the norm would not be the columns.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.weights.affine_after import AffineAfter
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import MatchResult


class MatMulBatchNormalizationPattern(AffineAfter):
    """The weights of a MatMul take over the BatchNormalization behind it, which makes it a Gemm."""

    min_opset: ClassVar[int] = 7
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.MatMulOp,)
    reader: ClassVar[type[Operation]] = onnx.BatchNormalizationOp

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        if graph.rank(op.operands[0]) != 2:
            return no_match(op, "the first factor is no matrix")
        return super().match(graph, op)

    def linear_op(
        self,
        graph: GraphIndex,
        op: Operation,
        data: SSAValue,
        weight: SSAValue | None,
        bias: SSAValue | None,
        result: SSAValue,
    ) -> Operation:
        return graph.make(onnx.GemmOp, [data, weight, bias], result_types=[result.type], name_from=op)
