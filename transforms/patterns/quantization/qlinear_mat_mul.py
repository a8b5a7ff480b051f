"""QLinearMatMul(a, b) -> QuantizeLinear(MatMul(DequantizeLinear(a), DequantizeLinear(b)))

What surrounds it is spelled so as well, and products of dequantized tensors are computed on integers.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.quantization.parameters import is_known_f32
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    Numerics,
    PatternOptimization,
    Replacement,
    no_match,
)


class QLinearMatMulPattern(PatternOptimization):
    """A quantized product becomes one between dequantizations and a quantization."""

    name = "QLinearMatMul"
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.QLinearMatMulOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE
    adds_ops: ClassVar[str] = "one op is taken apart"

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.QLinearMatMulOp)
        if not all(is_known_f32(graph, scale) for scale in (op.a_scale, op.b_scale, op.y_scale)):
            return no_match(op, "a scale is not known, or not in f32")
        if graph.constant_shape(op.a_scale) not in ((), (1,)):
            return no_match(op, "the left factor has a scale per row")
        if graph.constant_shape(op.y_scale) not in ((), (1,)):
            return no_match(op, "the result has a scale per row")
        ranks = graph.rank(op.a), graph.rank(op.b)
        if ranks[0] is None or ranks[1] is None or min(r for r in ranks if r is not None) < 2:
            return no_match(op, "the rank of a factor is not known, or it is a vector")
        return MatchResult((op,))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        (op,) = match.ops
        assert isinstance(op, onnx.QLinearMatMulOp)
        columns = (graph.rank(op.b) or 0) - 1

        def dequantized(value: SSAValue, scale: SSAValue, zero: SSAValue, axis: int) -> Operation:
            return graph.make(onnx.DequantizeLinearOp, [value, scale, zero], axis=axis)

        a = dequantized(op.a, op.a_scale, op.a_zero_point, 1)
        b = dequantized(op.b, op.b_scale, op.b_zero_point, columns)
        product = graph.make(onnx.MatMulOp, [a.results[0], b.results[0]], name_from=op)
        y = graph.make(
            onnx.QuantizeLinearOp,
            [product.results[0], op.y_scale, op.y_zero_point],
            result_types=[op.results[0].type],
        )
        return Replacement([a, b, product, y], {op.results[0]: y.y})
