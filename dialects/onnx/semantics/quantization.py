"""Scalar semantics of QuantizeLinear and DequantizeLinear, per tensor and per axis."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import Float32Type, TensorType, f32, i32
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, is_none
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.dialects.onnx.semantics.quantized_levels import (
    SCALES,
    from_level,
    level_limits,
    quotient,
    to_level,
)
from onnxloom.dialects.onnx.semantics.scalars import (
    Scalar,
    Scalars,
    as_integer,
    is_float,
    is_unsigned,
)
from onnxloom.dialects.onnx.semantics.semantics import ScalarSemantics, Table, element_type, unsigned


def _has_zero_point(op: Operation) -> bool:
    return len(op.operands) > 2 and not is_none(op.operands[2])


def _rank(op: Operation, operand: int) -> int | None:
    type_ = op.operands[operand].type
    return type_.get_num_dims() if isinstance(type_, TensorType) else None


def _axis(op: Operation, operand: int) -> int | None:
    if operand == 0 or _rank(op, operand) != 1:
        return None
    return int_attr(op, "axis", 1)


def _per_tensor_or_axis(op: Operation) -> bool:
    ranks = [_rank(op, i) for i in range(1, len(op.operands)) if not is_none(op.operands[i])]
    return not int_attr(op, "block_size", 0) and all(r in (0, 1) for r in ranks)


def _quantize(s: Scalars, op: Operation, x: Sequence[Scalar]) -> Scalar:
    target = as_integer(element_type(op.results[0]))
    assert target is not None
    zero = x[2] if _has_zero_point(op) else None
    return from_level(s, quantized_level(s, op, x), zero, target)


def quantized_level(s: Scalars, op: Operation, x: Sequence[Scalar]) -> Scalar:
    """What a QuantizeLinear of a form with semantics makes of an element, minus the zero point; a float."""
    target = as_integer(element_type(op.results[0]))
    assert target is not None
    value = x[0] if is_float(x[0].type) else s.int_to_float(x[0], f32, unsigned=False)
    value, scale = s.float_to(value, f32), s.float_to(x[1], f32)
    quanta = quotient(s, value, scale) if _has_one_usual_scale(op) else s.divf(value, scale)
    return to_level(s, quanta, level_limits(s, x[2] if _has_zero_point(op) else None, target))


def _has_one_usual_scale(op: Operation) -> bool:
    """Whether the scale is one number, known, whose reciprocal replaces a division."""
    scale = constant_value(op.operands[1])
    return scale is not None and scale.size == 1 and SCALES[0] <= scale.item() <= SCALES[1]


def _quantize_supported(op: Operation) -> bool:
    target = as_integer(element_type(op.results[0]))
    if target is None or target.width.data not in (8, 16):
        return False
    if not isinstance(element_type(op.operands[1]), Float32Type):
        return False
    return element_type(op.operands[0]) in (f32, i32) and _per_tensor_or_axis(op)


def _dequantize(s: Scalars, op: Operation, x: Sequence[Scalar]) -> Scalar:
    value = s.int_to_int(x[0], i32, unsigned(op))
    if _has_zero_point(op):
        value = s.sub(value, s.int_to_int(x[2], i32, unsigned(op)))
    return s.mul(s.int_to_float(value, f32, unsigned=False), s.float_to(x[1], f32))


def _dequantize_supported(op: Operation) -> bool:
    source = as_integer(element_type(op.operands[0]))
    if source is None or source.width.data not in (8, 16, 32):
        return False
    return not (source.width.data == 32 and is_unsigned(source)) and _per_tensor_or_axis(op)


OPS: Table = {
    onnx.QuantizeLinearOp: ScalarSemantics(_quantize, supports=_quantize_supported, axis=_axis),
    onnx.DequantizeLinearOp: ScalarSemantics(_dequantize, supports=_dequantize_supported, axis=_axis),
}
