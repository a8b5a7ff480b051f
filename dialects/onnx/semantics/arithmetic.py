"""Scalar semantics of ONNX arithmetic: Add, Sub, Mul, Div, Mod, Pow, Min, Max, Sum, Mean, Neg, Abs, ..."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

from xdsl.dialects import arith
from xdsl.dialects import math as xmath
from xdsl.dialects.builtin import Float64Type, f64, i1
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.semantics.conversion import convert, float_to_int
from onnxloom.dialects.onnx.semantics.scalars import (
    Scalar,
    Scalars,
    bit_width,
    constant_of,
    is_float,
)
from onnxloom.dialects.onnx.semantics.semantics import (
    ScalarSemantics,
    Table,
    element_type,
    result_storage,
    unsigned,
)

Values = Sequence[Scalar]


def _fold(combine: Callable[[Scalars, Scalar, Scalar], Scalar]) -> ScalarSemantics:
    def compute(s: Scalars, op: Operation, x: Values) -> Scalar:
        return reduce(lambda a, b: combine(s, a, b), x)

    return ScalarSemantics(compute)


def _mean(s: Scalars, op: Operation, x: Values) -> Scalar:
    total = reduce(s.add, x)
    return s.divf(total, s.const(len(x), total.type))


def _maximum(s: Scalars, op: Operation, x: Values) -> Scalar:
    return reduce(lambda a, b: s.maximum(a, b, unsigned(op)), x)


def _minimum(s: Scalars, op: Operation, x: Values) -> Scalar:
    return reduce(lambda a, b: s.minimum(a, b, unsigned(op)), x)


def _div(s: Scalars, op: Operation, x: Values) -> Scalar:
    a, b = x
    if is_float(a.type):
        return s.divf(a, b)
    divisor = constant_of(b)
    if divisor is not None and divisor not in (0, -1):
        return s.emit(arith.DivUIOp(a, b) if unsigned(op) else arith.DivSIOp(a, b))
    zero, one = s.const(0, b.type), s.const(1, b.type)
    by_zero = s.cmp("eq", b, zero)
    if unsigned(op):
        quotient = s.emit(arith.DivUIOp(a, s.select(by_zero, one, b)))
        return s.select(by_zero, zero, quotient)
    # The smallest integer divided by -1 traps: negate instead.
    by_minus_one = s.cmp("eq", b, s.const(-1, b.type))
    safe = s.select(s.or_(by_zero, by_minus_one), one, b)
    quotient = s.emit(arith.DivSIOp(a, safe))
    return s.select(by_zero, zero, s.select(by_minus_one, s.neg(a), quotient))


def _mod(s: Scalars, op: Operation, x: Values) -> Scalar:
    a, b = x
    zero = s.const(0, b.type)
    if unsigned(op):
        by_zero = s.cmp("eq", b, zero)
        rest = s.emit(arith.RemUIOp(a, s.select(by_zero, s.const(1, b.type), b)))
        return s.select(by_zero, zero, rest)
    # The remainder by 0 is given as 0, by -1 it is 0: both without a trap.
    trap = s.or_(s.cmp("eq", b, zero), s.cmp("eq", b, s.const(-1, b.type)))
    rest = s.emit(arith.RemSIOp(a, s.select(trap, s.const(1, b.type), b)))
    if int_attr(op, "fmod"):
        return rest
    other_sign = s.cmp("lt", s.xor(rest, b), zero)
    wrong = s.and_(s.cmp("ne", rest, zero), other_sign)
    return s.select(wrong, s.add(rest, b), rest)


def _mod_supported(op: Operation) -> bool:
    # A float remainder has no arith op to be written as.
    element = element_type(op.operands[0])
    return element is not None and not is_float(element)


def _pow(s: Scalars, op: Operation, x: Values) -> Scalar:
    base, exponent = x
    if not is_float(base.type):
        if not is_float(exponent.type):
            return _integer_power(s, base, exponent, unsigned(op, 1))
        wide = s.emit(xmath.PowFOp(s.int_to_float(base, f64, unsigned(op)), s.float_to(exponent, f64)))
        return float_to_int(s, wide, result_storage(op), unsigned(op))
    value = constant_of(exponent)
    if value is not None:
        simple = _simple_power(s, base, float(value))
        if simple is not None:
            return simple
    if isinstance(base.type, Float64Type) or not is_float(exponent.type):
        exponent = convert(s, exponent, f64, unsigned(op, 1))
    common = f64 if isinstance(exponent.type, Float64Type) else base.type
    return s.emit(xmath.PowFOp(s.float_to(base, common), s.float_to(exponent, common)))


def _simple_power(s: Scalars, x: Scalar, exponent: float) -> Scalar | None:
    """x to a small constant power by multiplication; what `pow` gives for zeros and infinities too."""
    if exponent == 1.0:
        return x
    if exponent == 2.0:
        return s.mul(x, x)
    if exponent == 3.0:
        return s.mul(s.mul(x, x), x)
    if exponent == -1.0:
        return s.divf(s.const(1.0, x.type), x)
    if exponent != 0.5:
        return None
    root = s.unary(xmath.SqrtOp, s.add_const(x, 0.0))
    infinite = s.cmp("eq", x, s.const(-math.inf, x.type))
    return s.select(infinite, s.const(math.inf, x.type), root)


def _integer_power(s: Scalars, base: Scalar, exponent: Scalar, unsigned_exponent: bool) -> Scalar:
    """Wrapping power by squaring over the exponent's low 32 bits; a negative exponent truncates to 0."""
    one, zero = s.const(1, base.type), s.const(0, base.type)
    value = constant_of(exponent)
    result, square = one, base
    if value is not None and 0 <= value < 64:
        for bit in range(int(value).bit_length()):
            if int(value) >> bit & 1:
                result = s.mul(result, square)
            square = s.mul(square, square)
        return result
    e_zero = s.const(0, exponent.type)
    for bit in range(min(32, bit_width(exponent.type))):
        taken = s.cmp("ne", s.and_(exponent, s.const(1 << bit, exponent.type)), e_zero)
        result = s.select(taken, s.mul(result, square), result)
        square = s.mul(square, square)
    if unsigned_exponent:
        return result
    negative = s.cmp("lt", exponent, e_zero)
    unit = s.or_(s.cmp("eq", base, one), s.cmp("eq", base, s.const(-1, base.type)))
    return s.select(s.and_(negative, s.xor(unit, s.const(1, i1))), zero, result)


def _sign(s: Scalars, op: Operation, x: Values) -> Scalar:
    (a,) = x
    zero, one = s.const(0, a.type), s.const(1, a.type)
    positive = s.cmp("gt", a, zero, unsigned(op))
    if unsigned(op):
        return s.select(positive, one, zero)
    signed = s.select(positive, one, s.select(s.cmp("lt", a, zero), s.const(-1, a.type), zero))
    return s.select(s.isnan(a), a, signed) if is_float(a.type) else signed


OPS: Table = {
    onnx.AddOp: _fold(Scalars.add),
    onnx.SubOp: _fold(Scalars.sub),
    onnx.MulOp: _fold(Scalars.mul),
    onnx.SumOp: _fold(Scalars.add),
    onnx.MeanOp: ScalarSemantics(_mean),
    onnx.MaxOp: ScalarSemantics(_maximum),
    onnx.MinOp: ScalarSemantics(_minimum),
    onnx.DivOp: ScalarSemantics(_div),
    onnx.ModOp: ScalarSemantics(_mod, supports=_mod_supported),
    onnx.PowOp: ScalarSemantics(_pow),
    onnx.NegOp: ScalarSemantics(lambda s, op, x: s.neg(x[0])),
    onnx.AbsOp: ScalarSemantics(lambda s, op, x: s.abs(x[0], unsigned(op))),
    onnx.SignOp: ScalarSemantics(_sign),
    onnx.ReciprocalOp: ScalarSemantics(lambda s, op, x: s.divf(s.const(1.0, x[0].type), x[0])),
    onnx.IdentityOp: ScalarSemantics(lambda s, op, x: x[0], widen=False),
}
