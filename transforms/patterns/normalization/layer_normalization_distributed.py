"""x * s + (b - mean * s), s = g / Sqrt(ReduceMean((x - mean)^2) + epsilon) -> LayerNormalization(x, g, b).

How TensorFlow's batch_normalization, and Keras' LayerNormalization with it, is exported. `mean` is
ReduceMean(x), both means are over all axes from one to the last, `g` (which may be left out) and `b` have
exactly the dims of these.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.normalization.building import TrailingNorm, make_layer_norm
from onnxloom.transforms.patterns.normalization.deviation import ROOTS, match_deviation
from onnxloom.transforms.patterns.normalization.parameters import suffix_axis, trailing_parameter
from onnxloom.transforms.patterns.normalization.standardize import match_centered
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


class LayerNormalizationDistributedPattern(PatternOptimization):
    """A layer normalization whose scale was distributed over the difference becomes the op."""

    min_opset: ClassVar[int] = 17
    start_ops: ClassVar[tuple[type[Operation], ...]] = ROOTS
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        deviation = match_deviation(graph, op)
        if isinstance(deviation, Miss):
            return deviation
        if not deviation.is_inverse:
            return no_match(op, "nothing is multiplied by the inverse of the deviation")
        factor, gamma, ops = deviation.output, None, deviation.ops
        scaling = graph.only_consumer(factor)
        if isinstance(scaling, onnx.MulOp):
            factor, gamma, ops = scaling.C, other_operand(scaling, factor), (*ops, scaling)
        products = graph.consumers(factor)
        sub = graph.producer_of(deviation.squared, onnx.SubOp)
        if sub is None or len(products) != 2:
            return no_match(op, "the factor is not read by two Muls alone")
        data, mean = sub.operands
        scaled, center = _product(products, factor, data), _product(products, factor, mean)
        if scaled is None or center is None:
            return no_match(op, "the factor does not multiply both the value and its mean")
        shift, total = graph.only_consumer(center.C), graph.only_consumer(scaled.C)
        if not isinstance(shift, onnx.SubOp) or shift.B is not center.C:
            return no_match(op, "the scaled mean is not subtracted from a bias alone")
        if not isinstance(total, onnx.AddOp) or other_operand(total, scaled.C) is not shift.C:
            return no_match(op, "the shift is not added to the scaled value alone")
        if not graph.is_private(shift.C):
            return no_match(op, "the shift is read elsewhere")
        centered = match_centered(graph, deviation, deviation.squared, deviation.ops, (center,))
        if isinstance(centered, Miss):
            return centered
        axis = suffix_axis(graph, data, deviation.axes)
        if axis is None:
            return no_match(op, "the axes are not all from one to the last")
        scale = None if gamma is None else trailing_parameter(graph, gamma, data, axis)
        bias = trailing_parameter(graph, shift.A, data, axis)
        if bias is None or (gamma is not None and scale is None):
            return no_match(op, "scale or bias has not exactly the dims that are normalized")
        norm = TrailingNorm(data, axis, deviation.epsilon, total.C, scale, bias)
        return MatchResult((*centered.ops, *ops, scaled, center, shift, total), data=norm)

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        found: TrailingNorm = match.data
        ops = make_layer_norm(graph, found)
        return Replacement(ops, {found.output: ops[-1].results[0]})


def _product(products: tuple[Operation, ...], factor: SSAValue, value: SSAValue) -> onnx.MulOp | None:
    """The one of `products` that is `factor * value`."""
    for op in products:
        if isinstance(op, onnx.MulOp) and other_operand(op, factor) is value:
            return op
    return None
