"""QLinearConv(x, w, B) -> QuantizeLinear(Conv(DequantizeLinear(x), DequantizeLinear(w), DequantizeLinear(B)))

The scale of the 32-bit B is the product of those of x and w. What surrounds it is spelled so as well, and
convolutions of dequantized tensors are computed on integers.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
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


class QLinearConvPattern(PatternOptimization):
    """A quantized convolution becomes one between dequantizations and a quantization."""

    name = "QLinearConv"
    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.QLinearConvOp,)
    numerics: ClassVar[Numerics] = Numerics.TOLERANCE
    adds_ops: ClassVar[str] = "one op is taken apart"

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, onnx.QLinearConvOp)
        if not all(is_known_f32(graph, scale) for scale in (op.x_scale, op.w_scale, op.y_scale)):
            return no_match(op, "a scale is not known, or not in f32")
        for scale in (op.x_scale, op.y_scale):
            if graph.constant_shape(scale) not in ((), (1,)):
                return no_match(op, "the image or the result has several scales")
        return MatchResult((op,))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        (op,) = match.ops
        assert isinstance(op, onnx.QLinearConvOp)
        ops: list[Operation] = [
            graph.make(onnx.DequantizeLinearOp, [op.x, op.x_scale, op.x_zero_point]),
            graph.make(onnx.DequantizeLinearOp, [op.w, op.w_scale, op.w_zero_point], axis=0),
        ]
        operands = [made.results[0] for made in ops]
        if not is_none(op.B):
            scales = graph.constant(op.x_scale), graph.constant(op.w_scale)
            assert scales[0] is not None and scales[1] is not None
            combined = (scales[0].reshape(-1) * scales[1].reshape(-1)).astype(np.float32)
            scale = graph.make_constant(combined if combined.size > 1 else combined.reshape(()))
            bias = graph.make(onnx.DequantizeLinearOp, [op.B, scale.results[0]], axis=0)
            ops += [scale, bias]
            operands.append(bias.results[0])
        window: dict[str, Any] = dict(op.properties)
        conv = graph.make(onnx.ConvOp, operands, name_from=op, **window)
        y = graph.make(
            onnx.QuantizeLinearOp, [conv.Y, op.y_scale, op.y_zero_point], result_types=[op.results[0].type]
        )
        return Replacement([*ops, conv, y], {op.results[0]: y.y})
