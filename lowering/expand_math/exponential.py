"""exp, exp2, expm1, sinh, cosh in f32.

Range reduction x = n ln 2 + r with |r| <= ln 2 / 2 in two parts (Cody and Waite), a polynomial for the
rest, and a scaling by 2**n in two steps, so that results beyond the largest finite number and below the
smallest normal one come out as the format has them. Coefficients are minimax fits of our own.
"""

from __future__ import annotations

from onnxloom.lowering.expand_math.arithmetic import Arithmetic, Value

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 0.693145751953125  # 16 significant bits
_LN2_LOW = 1.42860682030941723212e-6

# (exp(r) - 1 - r) / r**2, relative error of exp 2**-31.
_EXP = (0.5, 0.1666666567325592, 0.041666485369205475, 0.008333541452884674,
        0.0013933228328824043, 0.00019766994228120893)  # fmt: skip
# (2**r - 1) / r, relative error of exp2 2**-32.
_EXP2 = (0.6931471824645996, 0.24022650718688965, 0.05550406128168106, 0.009618084877729416,
         0.0013336623087525368, 0.00015453308878932148, 1.4690239368064795e-05)  # fmt: skip


def _reduce(m: Arithmetic, x: Value) -> tuple[Value, Value]:
    """n (integral, as a float) and exp(r) - 1, where x = n ln 2 + r."""
    n = m.rint(m.mul(x, _LOG2_E))
    r = m.fma(n, -_LN2_LOW, m.fma(n, -_LN2_HIGH, x))
    return n, m.fma(m.mul(m.horner(r, _EXP), r), r, r)


def _scale(m: Arithmetic, value: Value, n: Value) -> Value:
    """value * 2**n for |n| <= 252, rounded once."""
    exponent = m.to_int(n)
    half = m.shr(exponent, 1)
    return m.mul(m.mul(value, m.power_of_two(half)), m.power_of_two(m.isub(exponent, half)))


def exp(m: Arithmetic, x: Value) -> Value:
    """e**x"""
    # Beyond these limits the result is 0 or infinity anyway.
    n, p = _reduce(m, m.clamp_number(x, -105.0, 90.0))
    return m.select(m.compare("uno", x, x), x, _scale(m, m.add(p, 1.0), n))


def exp2(m: Arithmetic, x: Value) -> Value:
    """2**x"""
    limited = m.clamp_number(x, -151.0, 129.0)
    n = m.rint(limited)
    r = m.sub(limited, n)
    value = m.fma(m.horner(r, _EXP2), r, 1.0)
    return m.select(m.compare("uno", x, x), x, _scale(m, value, n))


def half_expm1(m: Arithmetic, x: Value) -> Value:
    """(e**x - 1) / 2, which overflows only where sinh does."""
    n, p = _reduce(m, m.clamp_number(x, -18.0, 89.6))
    # A quarter of the power: 2**n itself is beyond f32 for x near the limit.
    quarter = m.power_of_two(m.isub(m.to_int(n), 2))
    value = m.fma(quarter, p, m.sub(quarter, 0.25))
    value = m.add(value, value)
    return m.select(m.compare("uno", x, x), x, m.copysign(value, x))


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
