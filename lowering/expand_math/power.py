"""x**y in f32: two to the power y log2 |x|, both steps in f64, and the edges of C's `pow`."""

from __future__ import annotations

import math

from onnxloom.lowering.expand_math.arithmetic import INFINITY, NAN, Arithmetic, Value
from onnxloom.lowering.expand_math.logarithm import split

# log2(1 + f) = s * sum of these times s**2k for s = f / (2 + f), |s| < 0.172: relative error 2**-46.
_LOG2 = tuple(2.0 / math.log(2.0) / (2 * k + 1) for k in range(9))
# 2**r for |r| <= 1/2: relative error 2**-39.
_EXP2 = tuple(math.log(2.0) ** k / math.factorial(k) for k in range(11))


def _log2(m: Arithmetic, a: Value) -> Value:
    """log2 of a >= 0, as f64."""
    d = m.as_double()
    e, f = split(m, a)
    wide = m.widen(f)
    s = d.div(wide, d.add(wide, 2.0))
    value = d.fma(s, d.horner(d.mul(s, s), _LOG2), m.widen(e))
    value = d.select(m.compare("oeq", a, 0.0), -INFINITY, value)
    return d.select(m.compare("oeq", a, INFINITY), INFINITY, value)


def _exp2(m: Arithmetic, t: Value) -> Value:
    """2**t of an f64, as f32."""
    d = m.as_double()
    t = d.clamp_number(t, -152.0, 130.0)
    n = d.rint(t)
    scale = d.power_of_two(m.widen_int(m.to_int(m.narrow(n))))
    return m.narrow(d.mul(d.horner(d.sub(t, n), _EXP2), scale))


def pow(m: Arithmetic, x: Value, y: Value) -> Value:
    """x**y"""
    a = m.abs(x)
    exponent = m.as_double().mul(m.widen(y), _log2(m, a))
    # 1**infinity would be 0 times infinity here.
    exponent = m.as_double().select(m.compare("oeq", a, 1.0), 0.0, exponent)
    value = _exp2(m, exponent)
    half = m.mul(y, 0.5)
    integral = m.compare("oeq", m.rint(y), y)
    odd = m.both(integral, m.compare("une", m.rint(half), half))
    minus = m.compare("olt", m.copysign(m.c(1.0), x), 0.0)
    value = m.select(m.both(minus, odd), m.neg(value), value)
    # A negative number has a root only where y is integral; 0 and infinity have limits.
    inside = m.both(m.compare("olt", x, 0.0), m.compare("une", a, INFINITY))
    value = m.select(integral, value, m.select(inside, NAN, value))
    value = m.select(m.compare("uno", x, y), NAN, value)
    return m.select(m.either(m.compare("oeq", y, 0.0), m.compare("oeq", x, 1.0)), 1.0, value)
