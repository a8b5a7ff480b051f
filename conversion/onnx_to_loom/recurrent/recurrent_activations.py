"""Which functions do the `activations` of LSTM, GRU and RNN name? Source: the ONNX operator texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from xdsl.dialects import math as xmath

from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.dialects.onnx.semantics.activation import sigmoid, softplus
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars

Activation: TypeAlias = Callable[[Scalars, Scalar], Scalar]


def _affine(s: Scalars, x: Scalar, alpha: float, beta: float) -> Scalar:
    return s.add_const(s.mul_const(x, alpha), beta)


def _relu(s: Scalars, x: Scalar, alpha: float, beta: float) -> Scalar:
    return s.maximum(x, s.const(0.0, x.type))


def _leaky_relu(s: Scalars, x: Scalar, alpha: float, beta: float) -> Scalar:
    return s.select(s.cmp("ge", x, s.const(0.0, x.type)), x, s.mul_const(x, alpha))


def _thresholded_relu(s: Scalars, x: Scalar, alpha: float, beta: float) -> Scalar:
    return s.select(s.cmp("gt", x, s.const(alpha, x.type)), x, s.const(0.0, x.type))


def _scaled_tanh(s: Scalars, x: Scalar, alpha: float, beta: float) -> Scalar:
    return s.mul_const(s.unary(xmath.TanhOp, s.mul_const(x, beta)), alpha)


def _hard_sigmoid(s: Scalars, x: Scalar, alpha: float, beta: float) -> Scalar:
    upper = s.minimum(_affine(s, x, alpha, beta), s.const(1.0, x.type))
    return s.maximum(upper, s.const(0.0, x.type))


def _elu(s: Scalars, x: Scalar, alpha: float, beta: float) -> Scalar:
    negative = s.mul_const(s.unary(xmath.ExpM1Op, x), alpha)
    return s.select(s.cmp("ge", x, s.const(0.0, x.type)), x, negative)


def _softsign(s: Scalars, x: Scalar, alpha: float, beta: float) -> Scalar:
    return s.divf(x, s.add_const(s.abs(x), 1.0))


_FORMS: dict[str, Callable[[Scalars, Scalar, float, float], Scalar]] = {
    "affine": _affine,
    "relu": _relu,
    "leakyrelu": _leaky_relu,
    "thresholdedrelu": _thresholded_relu,
    "tanh": lambda s, x, alpha, beta: s.unary(xmath.TanhOp, x),
    "scaledtanh": _scaled_tanh,
    "sigmoid": lambda s, x, alpha, beta: sigmoid(s, x),
    "hardsigmoid": _hard_sigmoid,
    "elu": _elu,
    "softsign": _softsign,
    "softplus": lambda s, x, alpha, beta: softplus(s, x),
}

_ALPHAS = {
    "affine": 1.0,
    "leakyrelu": 0.01,
    "thresholdedrelu": 1.0,
    "scaledtanh": 1.0,
    "hardsigmoid": 0.2,
    "elu": 1.0,
}
"""Functions that take alpha, and its default."""

_BETAS = {"affine": 0.0, "scaledtanh": 1.0, "hardsigmoid": 0.5}
"""Functions that take beta, and its default."""


def activation_functions(
    names: Sequence[str], alphas: Sequence[float], betas: Sequence[float]
) -> Sequence[Activation]:
    """The function of each name.

    Alphas and betas go, in order, to the functions that take them.

    Raises:
        Declined: a name is not one of the standard's.
    """
    alpha, beta = iter(alphas), iter(betas)
    return [_activation(name, alpha, beta) for name in names]


def _activation(name: str, alphas: Iterator[float], betas: Iterator[float]) -> Activation:
    key = name.lower()
    form = _FORMS.get(key)
    if form is None:
        raise Declined(f"there is no kernel for the activation {name!r}")
    alpha = next(alphas, _ALPHAS[key]) if key in _ALPHAS else 0.0
    beta = next(betas, _BETAS[key]) if key in _BETAS else 0.0
    return lambda s, x: form(s, x, alpha, beta)
