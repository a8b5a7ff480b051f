"""How does a float become one of 8 bits or fewer? What is beyond the largest one saturates or overflows.

The rules are the tables of ONNX Cast: saturating conversions to fp8 make the largest number of infinity, the
others NaN or infinity; fp6 and fp4 have neither and always saturate. f8E8M0 holds powers of two and NaN.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float64Type,
    i8,
    i32,
)
from xdsl.ir import Attribute

from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars

_LARGEST_FP8: dict[type[Attribute], float] = {
    Float8E4M3FNType: 448.0,
    Float8E4M3FNUZType: 240.0,
    Float8E5M2Type: 57344.0,
    Float8E5M2FNUZType: 57344.0,
}

_SMALLEST, _NORMAL = 1 << 22, 1 << 23
"""The f32 patterns of 2**-127, the smallest number of f8E8M0, and of 2**-126."""
_LARGEST, _NAN = 254, 255
"""The largest number of f8E8M0, and what is none."""


def float_to_small(
    s: Scalars, a: Scalar, target: Attribute, *, saturate: bool = True, round_mode: str = "up"
) -> Scalar:
    """A float as another float type, by the rules of Cast; `round_mode` counts for f8E8M0 alone."""
    if a.type == target:
        return a
    if isinstance(target, Float8E8M0FNUType):
        return _to_exponent(s, a, saturate, round_mode)
    largest = _LARGEST_FP8.get(type(target))
    if saturate and largest is not None:
        a = s.widen(a)
        a = s.minimum(s.maximum(a, s.const(-largest, a.type)), s.const(largest, a.type))
    return s.float_to(a, target)


def _to_exponent(s: Scalars, a: Scalar, saturate: bool, round_mode: str) -> Scalar:
    """As f8E8M0; what is less than its smallest number, or negative, saturates or is NaN."""
    single = s.round_to_odd(a) if isinstance(a.type, Float64Type) else s.widen(a)
    bits = s.emit(arith.BitcastOp(single, i32))
    # Rounding carries into the exponent. The smallest number has one mantissa bit above its fraction.
    if round_mode != "down":
        up = round_mode == "up"
        carry = s.const(_NORMAL - 1 if up else _NORMAL >> 1, i32)
        short = s.const(_SMALLEST - 1 if up else _SMALLEST >> 1, i32)
        rounded = s.add(bits, s.select(s.cmp("lt", bits, s.const(_NORMAL, i32)), short, carry))
    else:
        rounded = bits
    exponent = s.emit(arith.ShRUIOp(rounded, s.const(23, i32)))
    over = s.cmp("gt", bits, s.const(_LARGEST << 23, i32))
    exponent = s.select(over, s.const(_LARGEST if saturate else _NAN, i32), exponent)
    under = s.cmp("lt", bits, s.const(_SMALLEST, i32))
    exponent = s.select(under, s.const(0 if saturate else _NAN, i32), exponent)
    exponent = s.select(s.isnan(single), s.const(_NAN, i32), exponent)
    return s.emit(arith.BitcastOp(s.int_to_int(exponent, i8, unsigned=True), Float8E8M0FNUType()))
