"""exp, exp2, expm1, sinh, cosh in f32.

Range reduction x = n ln 2 + r with |r| <= ln 2 / 2 in two parts (Cody and Waite), a polynomial for the
rest, and a scaling by 2**n in two steps, so that results beyond the largest finite number and below the
smallest normal one come out as the format has them. Coefficients are minimax fits of our own.

These functions decide the speed of softmax, sigmoid and the like: every instruction counts. NaN needs
none, because a NaN argument makes the polynomial NaN and no step after it changes that.
"""

from __future__ import annotations

from onnxloom.lowering.expand_math.arithmetic import Arithmetic, Value

LOG2_E = 1.4426950408889634
LN2_HIGH = 0.693145751953125  # 16 significant bits
LN2_LOW = 1.42860682030941723212e-6

# (exp(r) - 1 - r) / r**2: relative errors of exp 2**-28, of expm1 2**-31.
_EXP = (0.4999999403953552, 0.16666516661643982, 0.041668280959129333, 0.008369248360395432,
        0.0013820742024108768)  # fmt: skip
_EXPM1 = (0.5, 0.1666666567325592, 0.041666485369205475, 0.008333541452884674,
          0.0013933228328824043, 0.00019766994228120893)  # fmt: skip
EXP_POLYNOMIAL = (1.0, 1.0, *_EXP)
# (2**r - 1) / r, relative error of exp2 2**-32.
_EXP2 = (0.6931471824645996, 0.24022650718688965, 0.05550406128168106, 0.009618084877729416,
         0.0013336623087525368, 0.00015453308878932148, 1.4690239368064795e-05)  # fmt: skip

ROUNDER = 12582912.0  # 1.5 * 2**23: numbers near it have an ulp of 1


def _split(m: Arithmetic, shifted: Value) -> tuple[Value, Value]:
    """The integer n in `shifted` = `ROUNDER` + n, as a float and in the place of an exponent."""
    return m.sub(shifted, ROUNDER), m.shl(m.bits(shifted), 23)


def _reduce(m: Arithmetic, x: Value) -> tuple[Value, Value]:
    """n in the place of an exponent, and r, where x = n ln 2 + r."""
    n, exponent = _split(m, m.fma(x, LOG2_E, ROUNDER))
    return exponent, m.fma(n, -LN2_LOW, m.fma(n, -LN2_HIGH, x))


def _scale(m: Arithmetic, value: Value, exponent: Value, x: Value) -> Value:
    """value * 2**n, rounded once, for n of the sign of x in [-180, 180]."""
    negative = m.compare("olt", x, 0.0)
    bias = m.select_int(negative, m.i((127 + 64) << 23), m.i((127 - 64) << 23))
    rest = m.select(negative, 2.0**-64, 2.0**64)
    return m.mul(m.mul(value, m.from_bits(m.iadd(exponent, bias))), rest)


def exp(m: Arithmetic, x: Value) -> Value:
    """e**x"""
    # Beyond these limits the result is 0 or infinity anyway.
    limited = m.clamp(x, -105.0, 90.0)
    exponent, r = _reduce(m, limited)
    return _scale(m, m.horner(r, EXP_POLYNOMIAL), exponent, limited)


def exp_nonpositive(m: Arithmetic, x: Value) -> Value:
    """e**x for x <= 0 (softmax): scaling in one direction, no upper limit."""
    limited = m.select(m.compare("olt", x, -105.0), -105.0, x)
    exponent, r = _reduce(m, limited)
    scale = m.from_bits(m.iadd(exponent, (127 + 64) << 23))
    return m.mul(m.mul(m.horner(r, EXP_POLYNOMIAL), scale), 2.0**-64)


def exp2(m: Arithmetic, x: Value) -> Value:
    """2**x"""
    limited = m.clamp(x, -151.0, 129.0)
    n, exponent = _split(m, m.add(limited, ROUNDER))
    value = m.horner(m.sub(limited, n), (1.0, *_EXP2))
    return _scale(m, value, exponent, limited)


def half_expm1(m: Arithmetic, x: Value) -> Value:
    """(e**x - 1) / 2, which overflows only where sinh does."""
    exponent, r = _reduce(m, m.clamp(x, -18.0, 89.6))
    p = m.fma(m.mul(m.horner(r, _EXPM1), r), r, r)
    # A quarter of the power: 2**n itself is beyond f32 for x near the limit.
    quarter = m.from_bits(m.iadd(exponent, (127 - 2) << 23))
    value = m.fma(quarter, p, m.sub(quarter, 0.25))
    return m.copysign(m.add(value, value), x)


def expm1(m: Arithmetic, x: Value) -> Value:
    """e**x - 1, accurate near 0"""
    half = half_expm1(m, x)
    # Doubling would be exact for all but denormals, where halving already lost a bit.
    return m.select(m.compare("olt", m.abs(x), 1e-10), x, m.add(half, half))


def sinh(m: Arithmetic, x: Value) -> Value:
    """(e**x - e**-x) / 2"""
    magnitude = m.abs(x)
    h = half_expm1(m, magnitude)
    finite = m.clamp(h, 0.0, 3.4028234663852886e38)
    value = m.add(h, m.div(finite, m.add(m.add(finite, finite), 1.0)))
    value = m.select(m.compare("olt", magnitude, 1e-5), magnitude, value)
    return m.copysign(value, x)


def cosh(m: Arithmetic, x: Value) -> Value:
    """(e**x + e**-x) / 2"""
    half = m.add(half_expm1(m, m.abs(x)), 0.5)
    return m.add(half, m.div(0.25, half))
