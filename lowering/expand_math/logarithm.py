"""log, log2, log10, log1p and the inverse hyperbolic functions in f32.

x = 2**e m with m in [sqrt(1/2), sqrt(2)), and log(1 + f) = f - f**2 / 2 + f**3 P(f) for f = m - 1; P is a
minimax fit of our own.
"""

from __future__ import annotations

from onnxloom.lowering.expand_math.arithmetic import INFINITY, NAN, Arithmetic, Value

_LN2_HIGH = 0.693145751953125
_LN2_LOW = 1.42860682030941723212e-6
_SQRT_HALF_BITS = 0x3F3504F3
_SMALLEST_NORMAL = 1.1754943508222875e-38

# Relative error of log 2**-30.
_LOG = (0.3333331346511841, -0.25000008940696716, 0.2000207155942917, -0.16667990386486053,
        0.14220362901687622, -0.12406207621097565, 0.11883470416069031, -0.11670192331075668,
        0.06749556213617325)  # fmt: skip


def split(m: Arithmetic, x: Value) -> tuple[Value, Value]:
    """e and f with x = 2**e (1 + f), for positive finite x."""
    tiny = m.compare("olt", x, _SMALLEST_NORMAL)
    normal = m.select(tiny, m.mul(x, 8388608.0), x)
    bits = m.bits(normal)
    exponent = m.shr(m.isub(bits, _SQRT_HALF_BITS), 23)
    mantissa = m.from_bits(m.isub(bits, m.shl(exponent, 23)))
    e = m.to_float(exponent)
    return m.select(tiny, m.sub(e, 23.0), e), m.sub(mantissa, 1.0)


def _tail(m: Arithmetic, f: Value) -> tuple[Value, Value]:
    """-f**2 / 2 and f**3 P(f)."""
    square = m.mul(f, f)
    return m.mul(square, -0.5), m.mul(m.mul(m.horner(f, _LOG), f), square)


def _sum(m: Arithmetic, e: Value, f: Value) -> Value:
    """e ln 2 + log(1 + f), smallest terms first."""
    square, cube = _tail(m, f)
    y = m.add(m.fma(e, _LN2_LOW, cube), square)
    return m.fma(e, _LN2_HIGH, m.add(f, y))


def _edges(m: Arithmetic, x: Value, value: Value) -> Value:
    """`value` for positive finite x, else what a logarithm has there."""
    value = m.select(m.compare("oeq", x, INFINITY), x, value)
    value = m.select(m.compare("oge", x, 0.0), value, NAN)
    return m.select(m.compare("oeq", x, 0.0), -INFINITY, value)


def log(m: Arithmetic, x: Value) -> Value:
    """The natural logarithm."""
    e, f = split(m, x)
    return _edges(m, x, _sum(m, e, f))


def _log_in_base(m: Arithmetic, x: Value, unit_high: float, unit_low: float, per_e: float) -> Value:
    """e * per_e + log(1 + f) * unit, where unit is given in two parts."""
    e, f = split(m, x)
    square, cube = _tail(m, f)
    rest = m.add(cube, square)
    y = m.mul(m.add(f, rest), unit_low)
    y = m.fma(rest, unit_high, y)
    return _edges(m, x, m.fma(e, per_e, m.fma(f, unit_high, y)))


def log2(m: Arithmetic, x: Value) -> Value:
    """The logarithm to base 2; exact for powers of two."""
    return _log_in_base(m, x, 1.4427490234375, -5.3982548e-05, 1.0)


def log10(m: Arithmetic, x: Value) -> Value:
    """The logarithm to base 10."""
    return _log_in_base(m, x, 0.434326171875, -3.1689971970e-05, 0.30102999566398120)


def log1p(m: Arithmetic, x: Value) -> Value:
    """log(1 + x), accurate near 0"""
    u = m.add(x, 1.0)
    exponent = m.shr(m.isub(m.bits(u), _SQRT_HALF_BITS), 23)
    # For u infinite or not positive the exponent means nothing: any in range will do.
    usable = m.both(m.compare("ogt", u, 0.0), m.compare("olt", u, INFINITY))
    bounded = m.select(usable, m.to_float(exponent), 0.0)
    # 2**-e is denormal for the largest e; two factors are not.
    half = m.rint(m.mul(bounded, -0.5))
    rest = m.sub(m.neg(bounded), half)
    first, second = (m.power_of_two(m.to_int(part)) for part in (half, rest))
    f = m.fma(m.mul(x, first), second, m.sub(m.mul(first, second), 1.0))
    value = _edges(m, u, _sum(m, bounded, f))
    value = m.select(m.compare("uno", x, x), x, value)
    # x where 1 + x rounds to 1: also keeps -0.0 and denormals.
    return m.select(m.compare("olt", m.abs(x), 1e-8), x, value)


def asinh(m: Arithmetic, x: Value) -> Value:
    """The inverse of sinh."""
    a = m.abs(x)
    big = m.compare("ogt", a, 1e8)
    small = m.add(a, m.mul(a, m.div(a, m.add(m.sqrt(m.fma(a, a, 1.0)), 1.0))))
    value = m.add(log1p(m, m.select(big, a, small)), m.select(big, 0.6931471805599453, 0.0))
    return m.copysign(value, x)


def acosh(m: Arithmetic, x: Value) -> Value:
    """The inverse of cosh for x >= 1, NaN below."""
    big = m.compare("ogt", x, 1e8)
    t = m.sub(x, 1.0)
    small = m.add(t, m.sqrt(m.fma(t, t, m.add(t, t))))
    value = m.add(log1p(m, m.select(big, x, small)), m.select(big, 0.6931471805599453, 0.0))
    return m.select(m.compare("oge", x, 1.0), value, NAN)


def atanh(m: Arithmetic, x: Value) -> Value:
    """The inverse of tanh for |x| <= 1, NaN beyond."""
    a = m.abs(x)
    value = m.mul(log1p(m, m.div(m.add(a, a), m.sub(1.0, a))), 0.5)
    # Halving a doubled denormal is exact, the division by 1 - a is not the last step.
    return m.copysign(m.select(m.compare("olt", a, 1e-5), a, value), x)
