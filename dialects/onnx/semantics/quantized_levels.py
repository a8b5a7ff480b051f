"""How does a float become one of the integers of a quantized type, and how is its quotient by a scale found?

A *level* is such an integer minus the zero point, still a float: whole, exact, and in the range of the type.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import IntegerType, f32, i32

from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars, is_unsigned, storage_type

LARGE = 2.0**20
"""Beyond the levels of all types of up to 16 bits."""

SCALES = (2.0**-100, 2.0**100)
"""Scales between these have a reciprocal with all bits."""


def level_limits(s: Scalars, zero: Scalar | None, target: IntegerType) -> tuple[Scalar, Scalar]:
    """The lowest and highest level of a type of up to 16 bits with this zero point."""
    width = target.width.data
    unsigned = is_unsigned(target)
    low, high = (0, 2**width - 1) if unsigned else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
    limits = s.const(low, f32), s.const(high, f32)
    if zero is None:
        return limits
    offset = s.int_to_float(zero, f32, unsigned)
    return s.sub(limits[0], offset), s.sub(limits[1], offset)


def to_level(s: Scalars, quotient: Scalar, limits: tuple[Scalar, Scalar]) -> Scalar:
    """A quotient rounded half to even and saturated, in f32; NaN is the lowest level."""
    low, high = (s.float_to(limit, quotient.type) for limit in limits)
    level = s.unary(xmath.RoundEvenOp, quotient)
    level = s.select(s.cmp("gt", level, low), level, low)
    return s.float_to(s.select(s.cmp("lt", level, high), level, high), f32)


def from_level(s: Scalars, level: Scalar, zero: Scalar | None, target: IntegerType) -> Scalar:
    """The integer of a level, in storage type."""
    if zero is not None:
        level = s.add(level, s.int_to_float(zero, f32, is_unsigned(target)))
    # Within the type by now: the conversion needs no guard.
    whole = s.emit(arith.FPToSIOp(level, i32))
    return s.int_to_int(whole, storage_type(target), is_unsigned(target))


def quotient(s: Scalars, x: Scalar, scale: Scalar) -> Scalar:
    """`x / scale` in f32, rounded as a division is, for a scale within SCALES; large quotients may be others.

    The product with the reciprocal is corrected by what it leaves over, which a fused multiply-add gives
    exactly (Markstein). Where the scale is the same for many x, the reciprocal is found once.
    """
    reciprocal = s.divf(s.const(1.0, f32), scale)
    limit = s.const(LARGE, f32)
    first = s.mul(x, reciprocal)
    first = s.select(s.cmp("gt", first, limit), limit, first)
    first = s.select(s.cmp("lt", first, s.neg(limit)), s.neg(limit), first)
    left_over = s.emit(xmath.FmaOp(s.neg(first), scale, x))
    return s.emit(xmath.FmaOp(left_over, reciprocal, first))
