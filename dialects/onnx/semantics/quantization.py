"""Scalar semantics of QuantizeLinear and DequantizeLinear, per tensor and per axis.

Quotients and products are found in f32 and rounded once: a quotient to the attribute `precision`, else to
the wider of the float types of data and scale; a product to the type of the result.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BFloat16Type, Float8E8M0FNUType, Float16Type, TensorType, f32, f64, i32
from xdsl.ir import Attribute, Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, is_none
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.dialects.onnx.dtypes import element_of_proto
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
    bit_width,
    has_kernel,
    is_float,
    is_unsigned,
)
from onnxloom.dialects.onnx.semantics.semantics import (
    ScalarSemantics,
    Table,
    element_type,
    result_storage,
    unsigned,
)
from onnxloom.dialects.onnx.semantics.small_formats import float_to_small

_HALVES = (Float16Type, BFloat16Type)


def has_zero_point(op: Operation) -> bool:
    """Whether a quantization has a zero point."""
    return len(op.operands) > 2 and not is_none(op.operands[2])


def _rank(op: Operation, operand: int) -> int | None:
    type_ = op.operands[operand].type
    return type_.get_num_dims() if isinstance(type_, TensorType) else None


def _axis(op: Operation, operand: int) -> int | None:
    if operand == 0 or _rank(op, operand) != 1:
        return None
    return int_attr(op, "axis", 1)


def is_blocked(op: Operation) -> bool:
    """Whether a scale counts for several neighbours along an axis."""
    return int_attr(op, "block_size", 0) != 0


def _per_tensor_or_axis(op: Operation) -> bool:
    ranks = [_rank(op, i) for i in range(1, len(op.operands)) if not is_none(op.operands[i])]
    return not is_blocked(op) and all(r in (0, 1) for r in ranks)


def quantize(s: Scalars, op: Operation, x: Sequence[Scalar]) -> Scalar:
    """An element of a QuantizeLinear of a covered type, whatever the shape of the scale."""
    target = as_integer(element_type(op.results[0]))
    zero = x[2] if has_zero_point(op) else None
    if target is not None:
        return from_level(s, quantized_level(s, op, x), zero, target)
    return _quantize_to_float(s, op, _divided(s, op, x[0], x[1]), zero)


def gives_level(op: Operation) -> bool:
    """Whether a QuantizeLinear with semantics gives integers."""
    return as_integer(element_type(op.results[0])) is not None


def quantized_level(s: Scalars, op: Operation, x: Sequence[Scalar]) -> Scalar:
    """What a QuantizeLinear to integers makes of an element, minus the zero point; a float."""
    target = as_integer(element_type(op.results[0]))
    assert target is not None
    zero = x[2] if has_zero_point(op) else None
    return to_level(s, _divided(s, op, x[0], x[1]), level_limits(s, zero, target))


def _divided(s: Scalars, op: Operation, x: Scalar, scale: Scalar) -> Scalar:
    """The quotient in the precision of the op, as f32 or f64."""
    precision = _precision(op)
    wide = f64 if precision == f64 else f32
    x, scale = (_as_float(s, v, wide) for v in (x, scale))
    if int_attr(op, "precision", 0):
        x, scale = (s.widen(s.float_to(v, precision)) for v in (x, scale))
    if precision == f32 and _has_one_usual_scale(op):
        return quotient(s, x, scale)
    return s.widen(s.float_to(s.divf(x, scale), precision))


def _as_float(s: Scalars, value: Scalar, wide: Attribute) -> Scalar:
    if is_float(value.type):
        return s.float_to(value, wide)
    return s.int_to_float(value, wide, unsigned=False)


def _precision(op: Operation) -> Attribute:
    """The float type of the quotient: as numpy promotes the types of data and scale, but f32 for integers."""
    code = int_attr(op, "precision", 0)
    if code:
        return element_of_proto(code)
    data, scale = element_type(op.operands[0]), element_type(op.operands[1])
    if data == i32 and scale == i32:
        return f64
    if isinstance(data, _HALVES) and data == scale:
        return data
    return f32


def _has_one_usual_scale(op: Operation) -> bool:
    """Whether the scale is one number, known, whose reciprocal replaces a division."""
    scale = constant_value(op.operands[1])
    if scale is None or scale.size != 1:
        return False
    return SCALES[0] <= float(scale.reshape(-1)[0]) <= SCALES[1]


def _quantize_to_float(s: Scalars, op: Operation, value: Scalar, zero: Scalar | None) -> Scalar:
    """fp8 by the rules of Cast; a zero point of 0 leaves -0.0 as it is. fp6 and fp4 saturate."""
    target = result_storage(op)
    if zero is not None:
        offset = s.float_to(zero, value.type)
        moved = s.add(value, offset)
        keeps = bit_width(target) == 8
        value = s.select(s.cmp("eq", offset, s.const(0, value.type)), value, moved) if keeps else moved
    return float_to_small(s, value, target, saturate=bool(int_attr(op, "saturate", 1)))


def quantize_covered(op: Operation) -> bool:
    """Whether the element types of a QuantizeLinear have semantics."""
    elements = [element_type(v) for v in (*op.operands[:2], op.results[0])]
    if any(e is None or not has_kernel(e) for e in elements):
        return False
    precision = _precision(op)
    if not is_float(precision) or (precision not in (f32, f64) and not isinstance(precision, _HALVES)):
        return False
    target = as_integer(elements[2])
    return target is None or target.width.data in (2, 4, 8, 16)


def _quantize_supported(op: Operation) -> bool:
    return quantize_covered(op) and _per_tensor_or_axis(op)


def dequantize(s: Scalars, op: Operation, x: Sequence[Scalar]) -> Scalar:
    """An element of a DequantizeLinear of a covered type, whatever the shape of the scale."""
    zero = x[2] if has_zero_point(op) else None
    scale = s.widen(x[1])
    if is_float(x[0].type):
        value = s.widen(x[0])
        value = value if zero is None else s.sub(value, s.widen(zero))
    else:
        whole = s.int_to_int(x[0], i32, unsigned(op))
        if zero is not None:
            whole = s.sub(whole, s.int_to_int(zero, i32, unsigned(op)))
        value = s.int_to_float(whole, f32, unsigned=False)
    return s.mul(value, scale)


def dequantize_covered(op: Operation) -> bool:
    """Whether the element types of a DequantizeLinear have semantics."""
    source, scale, result = (element_type(v) for v in (*op.operands[:2], op.results[0]))
    if source is None or scale is None or result is None or isinstance(result, Float8E8M0FNUType):
        return False
    if not all(has_kernel(e) for e in (source, scale, result)) or not (is_float(scale) and is_float(result)):
        return False
    integer = as_integer(source)
    return integer is None or not (integer.width.data > 16 and is_unsigned(integer))


def _dequantize_supported(op: Operation) -> bool:
    return dequantize_covered(op) and _per_tensor_or_axis(op)


OPS: Table = {
    onnx.QuantizeLinearOp: ScalarSemantics(quantize, supports=_quantize_supported, axis=_axis),
    onnx.DequantizeLinearOp: ScalarSemantics(dequantize, supports=_dequantize_supported, axis=_axis),
}
