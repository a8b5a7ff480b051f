"""Transpose(DequantizeLinear(x)) -> DequantizeLinear(Transpose(x)), and so for other ops that move elements

They move bytes instead of floats, and the dequantization stands at what reads the numbers. A MaxPool may
move too: the largest integer is that of the largest float. One scale and one zero point only.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import TensorType, UnrankedTensorType
from xdsl.ir import Attribute, Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, ints_attr, is_none
from onnxloom.transforms.patterns.quantization.parameters import is_one_positive_scale
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    PatternOptimization,
    Replacement,
    no_match,
)


class DequantizeMovementPattern(PatternOptimization):
    """An op that moves elements goes in front of a dequantization."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (
        onnx.ReshapeOp,
        onnx.TransposeOp,
        onnx.FlattenOp,
        onnx.SqueezeOp,
        onnx.UnsqueezeOp,
        onnx.SliceOp,
        onnx.GatherOp,
        onnx.MaxPoolOp,
    )
    adds_ops: ClassVar[str] = "what else reads the floats keeps its own dequantization"

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        source = graph.producer_of(op.operands[0], onnx.DequantizeLinearOp)
        if source is None:
            return no_match(op, "the input is not dequantized")
        if int_attr(source, "block_size") or not is_one_positive_scale(graph, source.x_scale):
            return no_match(op, "the input has several scales, or one that is not known to be positive")
        if any(not is_none(result) and graph.is_used(result) for result in op.results[1:]):
            return no_match(op, "another result of it is read as well")
        if graph.is_constant(source.x):
            return no_match(op, "the input is constant")
        unfit = _unfit_pool(graph, op, source) if isinstance(op, onnx.MaxPoolOp) else None
        if unfit is not None:
            return no_match(op, unfit)
        return MatchResult((op,), reads=(source,))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        (op,) = match.ops
        assert op is not None
        source = op.operands[0].owner
        assert isinstance(source, onnx.DequantizeLinearOp)
        element = graph.element_type(source.x)
        assert element is not None
        results = [_with_element(op.results[0].type, element), *(r.type for r in op.results[1:])]
        own: dict[str, Any] = dict(op.properties)
        of_source: dict[str, Any] = dict(source.properties)
        moved = graph.make(type(op), [source.x, *op.operands[1:]], result_types=results, **own)
        operands = [moved.results[0], source.x_scale, source.x_zero_point]
        types = [op.results[0].type]
        again = graph.make(onnx.DequantizeLinearOp, operands, result_types=types, name_from=op, **of_source)
        return Replacement([moved, again], {op.results[0]: again.y})


def _unfit_pool(graph: GraphIndex, op: onnx.MaxPoolOp, source: onnx.DequantizeLinearOp) -> str | None:
    """Why the largest float of a window is not that of the largest integer."""
    if graph.dtype(source.x) not in ("int8", "uint8") or graph.opset() < 12:
        return "there is no MaxPool of these integers"
    if set(ints_attr(op, "dilations") or ()) - {1}:
        return "a window may lie beside the image as a whole, whose maximum is no integer"
    return None


def _with_element(type_: Attribute, element: Attribute) -> Attribute:
    """The shape of a type with another element type."""
    if isinstance(type_, TensorType):
        return TensorType(element, cast("TensorType[Attribute]", type_).get_shape())
    return UnrankedTensorType(element)
