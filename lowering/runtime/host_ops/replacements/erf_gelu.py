"""Erf, and Gelu, whose body reads it: the reference implementation of Erf rounds to f32, also in f64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]

_ERF = np.vectorize(math.erf, otypes=[np.float64])


@replaces("Erf")
def erf(attributes: Attributes, x: Array) -> list[Array]:
    """The error function, computed in f64."""
    return [_erf(x).astype(x.dtype)]


@replaces("Gelu")
def gelu(attributes: Attributes, x: Array) -> list[Array]:
    """`x * P(X <= x)` for a normal X, or its approximation by tanh, computed in f64."""
    wide = x.astype(np.float64)
    if attributes.get("approximate", "none") == "tanh":
        bent = np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3))
    else:
        bent = _erf(wide / math.sqrt(2))
    return [(0.5 * wide * (1 + bent)).astype(x.dtype)]


def _erf(x: Array) -> Array:
    return _ERF(x) if x.size else x.astype(np.float64)
