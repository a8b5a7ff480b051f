"""sin, cos, tan and their inverses in f32, for arguments of every size.

The argument is reduced in f64. 2/pi is cut into chunks of 26 bits, so that the product of an f32 with each
is exact; multiples of four quarter turns are dropped from every product exactly, and the rest is summed
from the largest part down. That is Payne and Hanek's method with the same steps for all exponents.
"""

from __future__ import annotations

from onnxloom.lowering.expand_math.arithmetic import Arithmetic, Value

_TWO_OVER_PI = (
    0x28BE60D, 0x2E4E441, 0x14A7F09, 0x357D1F5, 0x0D37703, 0x1B62959, 0x24F10E4, 0x041FE51,
)  # fmt: skip
_CHUNK_BITS = 26
_HALF_PI = 1.5707963267948966
_HALF_PI_HIGH = 1.57079637050628662109375  # rounded to f32
_HALF_PI_LOW = -4.37113900018624283e-8

# (sin(r) - r) / r**3 and (cos(r) - 1 + r**2 / 2) / r**4 in r**2: relative errors 2**-32.
_SIN = (-0.1666666716337204, 0.008333378471434116, -0.0001985256385523826, 2.8263898457225878e-06)
_COS = (0.04166664555668831, -0.0013887297827750444, 2.443008816044312e-05)
# (atan(t) - t) / t**3 in t**2 up to 1: relative error 2**-28.5.
_ATAN = (-0.33333298563957214, 0.1999853104352951, -0.14264051616191864, 0.10951176285743713,
         -0.08400485664606094, 0.05790683254599571, -0.031127389520406723, 0.01088761817663908,
         -0.0017876146594062448)  # fmt: skip
# (asin(s) - s) / s**3 in s**2 up to 1/4: relative error 2**-27.6.
_ASIN = (0.16666752099990845, 0.0749531015753746, 0.045469019562006, 0.024185502901673317,
         0.04215701296925545)  # fmt: skip
_SMALL = 2.44140625e-4  # below, sin(x) and tan(x) round to x


def _quarter_turns(m: Arithmetic, x: Value) -> tuple[Value, Value]:
    """n (an i32) and r with x = (n + r') pi/2, r = r' pi/2 and |r'| <= 1/2."""
    d = m.as_double()
    wide = m.widen(x)
    turns, rest = d.c(0.0), d.c(0.0)
    for k, chunk in enumerate(_TWO_OVER_PI, start=1):
        product = d.mul(wide, chunk * 2.0 ** (-_CHUNK_BITS * k))
        fours = d.rint(d.mul(product, 0.25))
        rest = d.add(rest, d.fma(fours, -4.0, product))
        whole = d.rint(rest)
        turns, rest = d.add(turns, whole), d.sub(rest, whole)
    count = m.clamp_number(m.narrow(turns), -64.0, 64.0)
    return m.to_int(count), m.narrow(d.mul(rest, _HALF_PI))


def _sin_cos(m: Arithmetic, r: Value) -> tuple[Value, Value]:
    """Both functions for |r| <= pi/4."""
    square = m.mul(r, r)
    sine = m.fma(m.mul(r, square), m.horner(square, _SIN), r)
    cosine = m.fma(m.mul(square, square), m.horner(square, _COS), m.fma(square, -0.5, 1.0))
    return sine, cosine


def _wave(m: Arithmetic, n: Value, r: Value) -> Value:
    """sin(n pi/2 + r)"""
    sine, cosine = _sin_cos(m, r)
    value = m.select(m.int_equal(m.iand(n, 1), 0), sine, cosine)
    return m.select(m.int_equal(m.iand(n, 2), 0), value, m.neg(value))


def sin(m: Arithmetic, x: Value) -> Value:
    """The sine."""
    n, r = _quarter_turns(m, x)
    return m.select(m.compare("olt", m.abs(x), _SMALL), x, _wave(m, n, r))


def cos(m: Arithmetic, x: Value) -> Value:
    """The cosine."""
    n, r = _quarter_turns(m, x)
    return _wave(m, m.iadd(n, 1), r)


def tan(m: Arithmetic, x: Value) -> Value:
    """The tangent."""
    n, r = _quarter_turns(m, x)
    sine, cosine = _sin_cos(m, r)
    even = m.int_equal(m.iand(n, 1), 0)
    value = m.div(m.select(even, sine, m.neg(cosine)), m.select(even, cosine, sine))
    return m.select(m.compare("olt", m.abs(x), _SMALL), x, value)


def atan(m: Arithmetic, x: Value) -> Value:
    """The inverse of tan."""
    a = m.abs(x)
    beyond = m.compare("ogt", a, 1.0)
    t = m.select(beyond, m.div(1.0, a), a)
    square = m.mul(t, t)
    value = m.fma(m.mul(t, square), m.horner(square, _ATAN), t)
    complement = m.sub(_HALF_PI_HIGH, m.sub(value, _HALF_PI_LOW))
    return m.copysign(m.select(beyond, complement, value), x)


def _asin_core(m: Arithmetic, a: Value) -> tuple[Value, Value]:
    """Whether a > 1/2, and asin(a), or there asin(sqrt((1 - a) / 2))."""
    large = m.compare("ogt", a, 0.5)
    square = m.select(large, m.mul(m.sub(1.0, a), 0.5), m.mul(a, a))
    s = m.select(large, m.sqrt(square), a)
    return large, m.fma(m.mul(s, square), m.horner(square, _ASIN), s)


def asin(m: Arithmetic, x: Value) -> Value:
    """The inverse of sin for |x| <= 1, NaN beyond."""
    large, value = _asin_core(m, m.abs(x))
    complement = m.sub(_HALF_PI_HIGH, m.sub(m.add(value, value), _HALF_PI_LOW))
    return m.copysign(m.select(large, complement, value), x)


def acos(m: Arithmetic, x: Value) -> Value:
    """The inverse of cos for |x| <= 1, NaN beyond."""
    large, value = _asin_core(m, m.abs(x))
    twice = m.add(value, value)
    negative = m.compare("olt", x, 0.0)
    # pi - 2 asin(...) on the far side, pi/2 -+ asin in the middle.
    far = m.sub(2.0 * _HALF_PI_HIGH, m.sub(twice, 2.0 * _HALF_PI_LOW))
    middle = m.sub(_HALF_PI_HIGH, m.sub(m.copysign(value, x), _HALF_PI_LOW))
    return m.select(large, m.select(negative, far, twice), middle)
