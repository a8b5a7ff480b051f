"""The activation functions that recurrent ops name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Activation: TypeAlias = Callable[[Array], Array]


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)) without overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e)).astype(x.dtype)


_DEFAULTS: dict[str, tuple[float, float]] = {
    "affine": (1.0, 0.0), "leakyrelu": (0.01, 0.0), "thresholdedrelu": (1.0, 0.0), "scaledtanh": (1.0, 1.0),
    "hardsigmoid": (0.2, 0.5), "elu": (1.0, 0.0),
}  # fmt: skip
_USES_BETA = ("affine", "scaledtanh", "hardsigmoid")

_FORMS: dict[str, Callable[[Array, float, float], Array]] = {
    "relu": lambda x, a, b: np.maximum(x, 0),
    "tanh": lambda x, a, b: np.tanh(x),
    "sigmoid": lambda x, a, b: sigmoid(x),
    "affine": lambda x, a, b: a * x + b,
    "leakyrelu": lambda x, a, b: np.where(x >= 0, x, a * x),
    "thresholdedrelu": lambda x, a, b: np.where(x > a, x, 0),
    "scaledtanh": lambda x, a, b: a * np.tanh(b * x),
    "hardsigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "elu": lambda x, a, b: np.where(x >= 0, x, a * np.expm1(np.minimum(x, 0))),
    "softsign": lambda x, a, b: x / (1 + np.abs(x)),
    "softplus": lambda x, a, b: np.logaddexp(x, 0),
}


def activations(
    names: Sequence[str], alphas: Sequence[float] | None, betas: Sequence[float] | None
) -> list[Activation]:
    """One function per name; alphas and betas go, in order, to the functions that take them.

    Raises:
        ValueError: a name is not one of the standard's.
    """
    alpha, beta = iter(alphas or ()), iter(betas or ())
    made: list[Activation] = []
    for name in names:
        key = name.lower()
        if key not in _FORMS:
            raise ValueError(f"unknown activation {name!r}")
        a, b = _DEFAULTS.get(key, (0.0, 0.0))
        if key in _DEFAULTS:
            a = next(alpha, a)
        if key in _USES_BETA:
            b = next(beta, b)
        made.append(_bound(_FORMS[key], a, b))
    return made


def _bound(form: Callable[[Array, float, float], Array], a: float, b: float) -> Activation:
    return lambda x: form(x, a, b).astype(x.dtype, copy=False)
