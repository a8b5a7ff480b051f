"""MatMulInteger, QLinearMatMul, ConvInteger and QLinearConv as kernels."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, ranked, shape_of
from onnxloom.conversion.onnx_to_loom.convolutions.conv_forms import channel_operand
from onnxloom.conversion.onnx_to_loom.quantized.integer_products import (
    build_integer_convolution,
    build_integer_product,
    check_scales,
    one_number,
    requantized,
    row_operand,
)
from onnxloom.conversion.onnx_to_loom.quantized.pair_words import Factor
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars


def _factors(inputs: Inputs) -> tuple[Factor, Factor]:
    """Two factors, then their zero points, which may be missing."""
    lhs, rhs, lhs_zero, rhs_zero = (*inputs, None, None)[:4]
    assert lhs is not None and rhs is not None
    return Factor(lhs, lhs_zero), Factor(rhs, rhs_zero)


@lowering(onnx.MatMulIntegerOp)
def lower_matmul_integer(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """The sums of products as 32-bit integers."""
    lhs, rhs = _factors(inputs)
    return [build_integer_product(builder, "matmul_integer", lhs, rhs, op.results[0].type)]


@lowering(onnx.ConvIntegerOp)
def lower_conv_integer(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """The sums of products as 32-bit integers."""
    image, weights = _factors(inputs)
    return [build_integer_convolution(builder, "conv_integer", op, image, weights, op.results[0].type)]


@lowering(onnx.QLinearMatMulOp)
def lower_qlinear_matmul(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """The product of two quantized matrices, quantized. The factor of the sums is found in f32."""
    given = [v for v in inputs if v is not None]
    assert len(given) == 8
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = given
    check_scales([a_scale, b_scale, y_scale], halves=True)
    target = ranked(op.results[0].type, "the result").element_type
    others = [
        row_operand(builder, a_scale, "a scale"),
        b_scale if any(d != 1 for d in shape_of(b_scale)) else builder.view(b_scale, []),
        row_operand(builder, y_scale, "a scale"),
        row_operand(builder, y_zero, "a zero point"),
    ]

    def epilogue(s: Scalars, value: Scalar, operands: Sequence[Scalar]) -> Scalar:
        left, right, result = (s.widen(scale) for scale in operands[:3])
        zero = operands[3]
        return requantized(s, value, s.divf(s.mul(left, right), result), zero, target)

    lhs, rhs = Factor(a, a_zero), Factor(b, b_zero)
    result_type = op.results[0].type
    return [build_integer_product(builder, "qlinear_matmul", lhs, rhs, result_type, others, epilogue)]


@lowering(onnx.QLinearConvOp)
def lower_qlinear_conv(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """The convolution of a quantized image with quantized weights and a 32-bit bias, quantized."""
    given = [v for v in inputs[:8] if v is not None]
    bias = inputs[8] if len(inputs) > 8 else None
    assert len(given) == 8
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = given
    check_scales([x_scale, w_scale, y_scale])
    target = ranked(op.results[0].type, "the result").element_type
    spatial = len(shape_of(w)) - 2
    several = any(d != 1 for d in shape_of(w_scale))
    others = [
        one_number(builder, x_scale, "the scale of the image"),
        channel_operand(builder, w_scale, spatial) if several else builder.view(w_scale, []),
        one_number(builder, y_scale, "the scale of the result"),
        one_number(builder, y_zero, "the zero point of the result"),
    ]

    def epilogue(s: Scalars, value: Scalar, operands: Sequence[Scalar]) -> Scalar:
        image, weights, result, zero = operands
        return requantized(s, value, s.divf(s.mul(image, weights), result), zero, target)

    image, weights = Factor(x, x_zero), Factor(w, w_zero)
    result_type = op.results[0].type
    return [
        build_integer_convolution(
            builder, "qlinear_conv", op, image, weights, result_type, others, epilogue, bias
        )
    ]
