"""QuantizeLinear(DequantizeLinear(x, s, z), s, z) -> x

A number of quanta times their size, over that size, rounds to the number again, for at most 16 bits.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.transforms.patterns.quantization.parameters import is_one_positive_scale, same_parameters
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    PatternOptimization,
    Replacement,
    no_match,
)


class DequantizeQuantizePattern(PatternOptimization):
    """Quantizing with the parameters it was dequantized with gives the same integers."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.QuantizeLinearOp,)

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.QuantizeLinearOp)
        source = graph.producer_of(op.x, onnx.DequantizeLinearOp)
        if source is None:
            return no_match(op, "the input is not dequantized")
        if graph.element_type(source.x) != graph.element_type(op.y):
            return no_match(op, "the integers are of another type")
        if graph.dtype(op.y) not in ("int8", "uint8", "int16", "uint16"):
            return no_match(op, "not every integer of this type comes back")
        if graph.dtype(op.x) != "float32" or graph.dtype(op.y_scale) != "float32":
            return no_match(op, "not every integer comes back from a float of this type")
        if int_attr(source, "block_size") or not is_one_positive_scale(graph, source.x_scale):
            return no_match(op, "there are several scales, or one that is not known to be positive")
        if not same_parameters(graph, source.x_scale, op.y_scale):
            return no_match(op, "the scale is another one")
        if not same_parameters(graph, source.x_zero_point, op.y_zero_point):
            return no_match(op, "the zero point is another one")
        return MatchResult((op,), reads=(source,))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        (op,) = match.ops
        assert isinstance(op, onnx.QuantizeLinearOp)
        source = op.x.owner
        assert isinstance(source, onnx.DequantizeLinearOp)
        return Replacement([], {op.y: source.x})
