"""Mod of floats: exact, by long division. That of integers is in the table of scalar semantics."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element
from onnxloom.conversion.onnx_to_loom.elementwise.single_elementwise import lower_elementwise
from onnxloom.conversion.onnx_to_loom.kernel_body import repeated
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, is_float


@lowering(onnx.ModOp)
def lower_mod(op: onnx.ModOp, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """The remainder has the sign of the dividend if `fmod`, else that of the divisor."""
    operands = [v for v in inputs if v is not None]
    target = buffer_element(operands[0].type)
    if not is_float(target):
        return lower_elementwise(op, inputs, builder)
    truncated = bool(int_attr(op, "fmod"))

    def body(s: Scalars, x: Sequence[Scalar]) -> Sequence[Scalar]:
        a, b = (s.float_to(s.widen(value), f64) for value in x)
        rest = _remainder(s, a, b)
        return [s.float_to(rest if truncated else _floored(s, rest, b), target)]

    return builder.map("float_mod", operands, [op.results[0].type], body)


def _remainder(s: Scalars, a: Scalar, b: Scalar) -> Scalar:
    """The remainder of a division rounded towards zero. Every step is exact."""
    zero, one, infinity = (s.const(value, f64) for value in (0.0, 1.0, math.inf))
    dividend, divisor = s.abs(a), s.abs(b)
    usual = s.and_(s.cmp("lt", dividend, infinity), s.cmp("gt", divisor, zero))
    divides = s.and_(usual, s.cmp("lt", divisor, infinity))
    start = s.select(divides, dividend, zero)
    step = s.select(divides, divisor, one)

    def fits_twice(acc: Sequence[Scalar]) -> Scalar:
        return s.cmp("le", acc[0], s.sub(start, acc[0]))

    (largest,) = repeated(s.builder, [step], fits_twice, lambda acc: [s.add(acc[0], acc[0])])

    def subtracted(acc: Sequence[Scalar]) -> Sequence[Scalar]:
        rest, part = acc
        less = s.select(s.cmp("ge", rest, part), s.sub(rest, part), rest)
        return [less, s.mul_const(part, 0.5)]

    rest, _ = repeated(s.builder, [start, largest], lambda acc: s.cmp("ge", acc[1], step), subtracted)
    # An infinite divisor leaves the dividend as it is.
    rest = s.select(divides, rest, s.select(usual, dividend, s.const(math.nan, f64)))
    return s.emit(xmath.CopySignOp(rest, a))


def _floored(s: Scalars, rest: Scalar, b: Scalar) -> Scalar:
    """The remainder of a division rounded down."""
    zero = s.const(0.0, f64)
    other_sign = s.emit(arith.XOrIOp(s.cmp("lt", rest, zero), s.cmp("lt", b, zero)))
    moved = s.select(other_sign, s.add(rest, b), rest)
    return s.select(s.cmp("eq", rest, zero), s.emit(xmath.CopySignOp(zero, b)), moved)
