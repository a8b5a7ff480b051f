"""RMSNormalization(x, s) * w -> RMSNormalization(x, s * w).

`w` has exactly the dims that are normalized, and is constant like `s`; any value will do where `s` is ones.
"""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.transforms.patterns.normalization.combining import product
from onnxloom.transforms.patterns.normalization.parameters import (
    is_uniform,
    materialized,
    trailing_parameter,
)
from onnxloom.transforms.patterns.operands import other_operand
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    Numerics,
    PatternOptimization,
    Replacement,
    no_match,
)


class RMSNormalizationMulPattern(PatternOptimization):
    """RMSNormalization takes in the scale applied to it."""

    min_opset: ClassVar[int] = 23
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.RMSNormalizationOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.RMSNormalizationOp)
        mul = graph.only_consumer(op.Y)
        if not isinstance(mul, onnx.MulOp):
            return no_match(op, "the result is not read by one Mul alone")
        factor, rank = other_operand(mul, op.Y), graph.rank(op.X)
        if factor is None or rank is None:
            return no_match(op, "the result is multiplied by itself, or its rank is not known")
        axis = int_attr(op, "axis")
        weight = trailing_parameter(graph, factor, op.X, axis if axis < 0 else axis - rank)
        if weight is None:
            return no_match(op, "the factor has not exactly the dims that are normalized")
        if is_uniform(graph, op.scale, 1):
            return MatchResult((op, mul), data=weight)
        if graph.constant(op.scale) is None or graph.constant(factor) is None:
            return no_match(op, "scale and factor are not both constant")
        return MatchResult((op, mul), data=product(graph, op.scale, weight, []))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        norm, mul = match.ops
        assert isinstance(norm, onnx.RMSNormalizationOp) and isinstance(mul, onnx.MulOp)
        ops: list[Operation] = []
        scale = materialized(graph, match.data, ops)
        copied: dict[str, Any] = dict(norm.properties)
        fused = graph.make(
            onnx.RMSNormalizationOp,
            [norm.X, scale],
            result_types=[mul.C.type],
            name_from=norm,
            **copied,
        )
        return Replacement([*ops, fused], {mul.C: fused.Y})
