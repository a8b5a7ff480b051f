"""Cast(Norm(Cast(x), s, b)) back to the type of x -> Norm(x, Cast(s), Cast(b)).

For LayerNormalization, RMSNormalization and GroupNormalization on a 16-bit `x`: they compute in their stash
type by themselves, which is what the inner Cast widens to. Scale and bias are rounded to the type of `x`.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float16Type
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, is_none
from onnxloom.dialects.onnx.dtypes import dtype_of_element, proto_of_element
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    Numerics,
    PatternOptimization,
    Replacement,
    no_match,
)

_Norm: TypeAlias = onnx.LayerNormalizationOp | onnx.RMSNormalizationOp | onnx.GroupNormalizationOp


class CastLayerNormalizationCastPattern(PatternOptimization):
    """Casts around a normalization that widens by itself go."""

    min_opset: ClassVar[int] = 17
    start_ops: ClassVar[tuple[type[Operation], ...]] = (
        onnx.LayerNormalizationOp,
        onnx.RMSNormalizationOp,
        onnx.GroupNormalizationOp,
    )
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        widen = graph.producer_of(op.operands[0], onnx.CastOp)
        if widen is None:
            return no_match(op, "the input is not cast")
        narrow_type = graph.element_type(widen.input)
        if not isinstance(narrow_type, Float16Type | BFloat16Type):
            return no_match(op, "the input is not cast from a 16-bit float")
        wide_type = graph.element_type(widen.output)
        if wide_type is None or proto_of_element(wide_type) != int_attr(op, "stash_type"):
            return no_match(op, "the input is not cast to the stash type")
        if not graph.is_private(widen.output):
            return no_match(op, "the wide input is read elsewhere")
        if any(graph.is_used(statistic) for statistic in op.results[1:]):
            return no_match(op, "the statistics are read")
        narrow = graph.only_consumer(op.results[0])
        if not isinstance(narrow, onnx.CastOp) or graph.element_type(narrow.output) != narrow_type:
            return no_match(op, "the result is not only cast back to the type of the input")
        if any(_overflows(graph, parameter, narrow_type) for parameter in op.operands[1:]):
            return no_match(op, "a number of scale or bias is too large for the narrow type")
        return MatchResult((widen, op, narrow))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        widen, norm, narrow = match.ops
        assert isinstance(widen, onnx.CastOp) and isinstance(narrow, onnx.CastOp) and isinstance(norm, _Norm)
        narrow_type = graph.element_type(widen.input)
        assert narrow_type is not None
        operands: list[SSAValue | None] = [widen.input]
        casts: list[Operation] = []
        for parameter in norm.operands[1:]:
            if is_none(parameter):
                operands.append(None)
                continue
            casts.append(graph.make(onnx.CastOp, [parameter], to=proto_of_element(narrow_type)))
            operands.append(casts[-1].results[0])
        types = [narrow.output.type, *(statistic.type for statistic in norm.results[1:])]
        copied: dict[str, Any] = dict(norm.properties)
        fused = graph.make(type(norm), operands, result_types=types, name_from=norm, **copied)
        return Replacement([*casts, fused], {narrow.output: fused.results[0]})


def _overflows(graph: GraphIndex, parameter: SSAValue, narrow: Attribute) -> bool:
    """Whether a finite constant is infinite in the narrow type."""
    constant = None if is_none(parameter) else graph.constant(parameter)
    if constant is None:
        return False
    with np.errstate(over="ignore"):
        rounded = constant.astype(dtype_of_element(narrow))
    return bool((np.isinf(rounded) & np.isfinite(constant)).any())
