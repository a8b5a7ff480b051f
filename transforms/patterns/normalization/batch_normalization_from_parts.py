"""(x - m) / d * s + b -> BatchNormalization(x, s / d, b, m, 1; epsilon=0).

All constant with a number per channel (`[C, 1, 1]` beside `[N, C, H, W]`): a Sub, then at least one Mul or
Div, then an Add. Where `d` is Sqrt(variance + epsilon), the model computes it from constants alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import NoneType
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.normalization.parameters import Array, channel_parameter
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
class _Found:
    data: SSAValue
    mean: Array
    scale: Array
    bias: Array
    output: SSAValue


class BatchNormalizationFromPartsPattern(PatternOptimization):
    """A decomposed BatchNormalization becomes the op."""

    min_opset: ClassVar[int] = 14
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.SubOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.SubOp)
        mean = channel_parameter(graph, op.B, op.A)
        if mean is None or mean.dtype.kind in "iu":
            return no_match(op, "no constant float per channel is subtracted")
        ops: list[Operation] = [op]
        value, scale = op.C, np.ones(mean.shape, np.float64)
        reader = graph.only_consumer(value)
        while isinstance(reader, onnx.MulOp | onnx.DivOp):
            factor = _factor(graph, reader, value)
            if factor is None:
                return no_match(op, "a factor is not constant with a number per channel")
            scale, value = scale * factor, reader.C
            ops.append(reader)
            reader = graph.only_consumer(value)
        if len(ops) < 2 or not isinstance(reader, onnx.AddOp):
            return no_match(op, "no Mul or Div, then an Add, follows")
        addend = other_operand(reader, value)
        bias = None if addend is None else channel_parameter(graph, addend, value)
        if bias is None:
            return no_match(op, "no constant per channel is added")
        narrow = scale.astype(mean.dtype)
        if not np.isfinite(narrow).all():
            return no_match(op, "the scale is not finite")
        data = _Found(op.A, mean, narrow, bias, reader.C)
        return MatchResult((*ops, reader), data=data)

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        found: _Found = match.data
        arrays = (found.scale, found.bias, found.mean, np.ones_like(found.mean))
        parameters = [graph.make_constant(array) for array in arrays]
        types: list[Attribute] = [found.output.type, NoneType(), NoneType()]
        norm = graph.make(
            onnx.BatchNormalizationOp,
            [found.data, *(parameter.output for parameter in parameters)],
            result_types=types,
            epsilon=0.0,
        )
        return Replacement([*parameters, norm], {found.output: norm.Y})


def _factor(graph: GraphIndex, op: onnx.MulOp | onnx.DivOp, value: SSAValue) -> Array | None:
    """What `value` is multiplied by, per channel, in f64."""
    other = other_operand(op, value)
    if other is None or (isinstance(op, onnx.DivOp) and op.A is not value):
        return None
    constant = channel_parameter(graph, other, value)
    if constant is None:
        return None
    wide = constant.astype(np.float64)
    with np.errstate(all="ignore"):
        return wide if isinstance(op, onnx.MulOp) else 1 / wide
