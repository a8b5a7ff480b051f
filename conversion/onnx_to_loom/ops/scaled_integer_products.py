"""com.microsoft MatMulIntegerToFloat and DynamicQuantizeMatMul: integer products scaled to floats.

Source: the operators' schemas in ONNX Runtime's ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, shape_of
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.quantized.dynamic_quantization import build_dynamic_quantization
from onnxloom.conversion.onnx_to_loom.quantized.integer_products import build_integer_product, check_scales
from onnxloom.conversion.onnx_to_loom.quantized.pair_words import Factor
from onnxloom.conversion.onnx_to_loom.registry import Inputs, custom_lowering
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars


@custom_lowering("com.microsoft", "MatMulIntegerToFloat")
def lower_matmul_integer_to_float(
    op: Operation, inputs: Inputs, builder: KernelBuilder
) -> Sequence[SSAValue]:
    """`(A - zero) @ (B - zero) * scales + bias`."""
    a, b, a_scale, b_scale, a_zero, b_zero, bias = (*inputs, *[None] * 7)[:7]
    assert a is not None and b is not None and a_scale is not None and b_scale is not None
    scales = a_scale, b_scale
    return [_scaled(op, builder, Factor(a, a_zero), Factor(b, b_zero), scales, bias)]


@custom_lowering("com.microsoft", "DynamicQuantizeMatMul")
def lower_dynamic_quantize_matmul(
    op: Operation, inputs: Inputs, builder: KernelBuilder
) -> Sequence[SSAValue]:
    """The same on `A` quantized over its range."""
    a, b, b_scale, b_zero, bias = (*inputs, *[None] * 5)[:5]
    assert a is not None and b is not None and b_scale is not None
    if buffer_element(a.type) != f32:
        raise Declined(f"elements of {a.type} are not quantized in a kernel")
    levels, a_scale, a_zero = build_dynamic_quantization(builder, a)
    scales = a_scale, b_scale
    return [_scaled(op, builder, Factor(levels, a_zero), Factor(b, b_zero), scales, bias)]


def _scaled(
    op: Operation,
    builder: KernelBuilder,
    lhs: Factor,
    rhs: Factor,
    scales: tuple[SSAValue, SSAValue],
    bias: SSAValue | None,
) -> SSAValue:
    """The product in f32. Raises Declined."""
    result_type = op.results[0].type
    check_scales(scales)
    if buffer_element(result_type) != f32:
        raise Declined(f"integer products are not scaled to {result_type}")
    if any(d != 1 for d in shape_of(scales[0])):
        raise Declined("the left factor has several scales")
    others = [builder.view(scales[0], []), scales[1], *([] if bias is None else [bias])]

    def epilogue(s: Scalars, value: Scalar, operands: Sequence[Scalar]) -> Scalar:
        left, right, *added = operands
        value = s.mul(s.int_to_float(value, f32, unsigned=False), s.mul(left, right))
        for addend in added:
            value = s.add(value, addend)
        return value

    return build_integer_product(builder, "scaled_integer_product", lhs, rhs, result_type, others, epilogue)
