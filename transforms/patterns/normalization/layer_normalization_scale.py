"""LayerNormalization(x, s, b) * m + c -> LayerNormalization(x, s * m, b * m + c).

`m`, `c` or both, with exactly the dims that are normalized. A scale of ones, and a bias of zeros or none,
drop out of the products; those of constants are computed, others stay ops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from xdsl.dialects.builtin import NoneType
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, is_none
from onnxloom.transforms.patterns.normalization.combining import product, total
from onnxloom.transforms.patterns.normalization.parameters import (
    Parameter,
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


@dataclass(frozen=True)
class _Affine:
    """What follows the normalization: `* factor`, `+ summand`, or both."""

    factor: Parameter | None
    summand: Parameter | None
    output: SSAValue


class LayerNormalizationScalePattern(PatternOptimization):
    """LayerNormalization takes in the scale and bias applied to it."""

    min_opset: ClassVar[int] = 17
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.LayerNormalizationOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.LayerNormalizationOp)
        if graph.is_used(op.Mean) or graph.is_used(op.InvStdDev):
            return no_match(op, "the statistics are read")
        scaled = graph.only_consumer(op.Y)
        if not isinstance(scaled, onnx.MulOp | onnx.AddOp):
            return no_match(op, "the result is not read by one Mul or Add alone")
        first = _parameter(graph, op, scaled, op.Y)
        if first is None:
            return no_match(
                op, "what the result is combined with has not exactly the dims that are normalized"
            )
        output = scaled.results[0]
        if isinstance(scaled, onnx.AddOp):
            return MatchResult((op, scaled), data=_Affine(None, first, output))
        shifted = graph.only_consumer(output)
        second = _parameter(graph, op, shifted, output) if isinstance(shifted, onnx.AddOp) else None
        if shifted is None or second is None:
            return MatchResult((op, scaled), data=_Affine(first, None, output))
        return MatchResult((op, scaled, shifted), data=_Affine(first, second, shifted.results[0]))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        found: _Affine = match.data
        norm = match.ops[0]
        assert isinstance(norm, onnx.LayerNormalizationOp)
        ops: list[Operation] = []
        scale = None if is_uniform(graph, norm.Scale, 1) else norm.Scale
        bias = None if is_none(norm.B) or is_uniform(graph, norm.B, 0) else norm.B
        if bias is not None:
            bias = product(graph, bias, found.factor, ops)
        bias = total(graph, bias, found.summand, ops)
        scale = product(graph, scale, found.factor, ops)
        types: list[Attribute] = [found.output.type, NoneType(), NoneType()]
        copied: dict[str, Any] = dict(norm.properties)
        fused = graph.make(
            onnx.LayerNormalizationOp,
            [
                norm.X,
                norm.Scale if scale is None else materialized(graph, scale, ops),
                None if bias is None else materialized(graph, bias, ops),
            ],
            result_types=types,
            name_from=norm,
            **copied,
        )
        return Replacement([*ops, fused], {found.output: fused.Y})


def _parameter(
    graph: GraphIndex, norm: onnx.LayerNormalizationOp, op: Operation, known: SSAValue
) -> Parameter | None:
    """What `op` combines with `known`, as a scale or bias of the normalization."""
    value, axis, rank = other_operand(op, known), int_attr(norm, "axis"), graph.rank(norm.X)
    if value is None or rank is None:
        return None
    return trailing_parameter(graph, value, norm.X, axis if axis < 0 else axis - rank)
