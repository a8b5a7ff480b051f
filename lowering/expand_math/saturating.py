"""tanh and erf in f32: odd rational functions x P(x**2) / Q(x**2) up to where the result rounds to 1.

The error reaches 5 ulp where the result is just below 1 (3e-7 there); its root mean square is 1 ulp. Q(0)
is 1, so that the result for a denormal x is P(0) x. The coefficients are minimax fits of our own.
"""

from __future__ import annotations

from collections.abc import Sequence

from onnxloom.lowering.expand_math.arithmetic import Arithmetic, Value

_TANH_END = 9.02
# Relative error 2**-27.
_TANH_P = (1.0, 0.13083158433437347, 0.0031030024401843548, 1.1144267773488536e-05,
           -2.0184014459800892e-08, 5.257800791969025e-11, -8.43609985470492e-14)  # fmt: skip
_TANH_Q = (1.0, 0.4641648530960083, 0.024491386488080025, 0.0002544752787798643)

_ERF_END = 3.93
# Relative error 2**-29.
_ERF_P = (1.128379225730896, 0.1851477324962616, 0.05425472930073738, 0.003840293502435088,
          0.00037716689985245466, 4.620039362634998e-06, -1.285787387672599e-08)  # fmt: skip
_ERF_Q = (1.0, 0.49741631746292114, 0.11388695240020752, 0.015434837900102139,
          0.001302408752962947, 6.250068690860644e-05)  # fmt: skip


def _saturating(m: Arithmetic, x: Value, end: float, p: Sequence[float], q: Sequence[float]) -> Value:
    limited = m.clamp(x, -end, end)
    square = m.mul(limited, limited)
    value = m.mul(limited, m.div(m.horner(square, p), m.horner(square, q)))
    value = m.clamp(value, -1.0, 1.0)
    return m.select(m.compare("oge", m.abs(x), end), m.copysign(m.c(1.0), x), value)


def tanh(m: Arithmetic, x: Value) -> Value:
    """The hyperbolic tangent."""
    return _saturating(m, x, _TANH_END, _TANH_P, _TANH_Q)


def erf(m: Arithmetic, x: Value) -> Value:
    """The error function."""
    return _saturating(m, x, _ERF_END, _ERF_P, _ERF_Q)
