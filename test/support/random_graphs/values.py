"""Which numbers do inputs and constants hold? Moderate ones, and now and then those at the edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from onnxloom.dialects.onnx.dtypes import element_of_dtype, proto_of_element
from random_graphs.source import Source

Array = np.ndarray[Any, Any]


def proto_type(dtype: np.dtype[Any]) -> int:
    """TensorProto data type."""
    return proto_of_element(element_of_dtype(dtype))


def array_of(source: Source, shape: Sequence[int], dtype: np.dtype[Any], special: bool) -> Array:
    """Random values; `special` mixes NaN, infinities, -0.0, denormals and extremes in."""
    rng = np.random.default_rng(source.integer(0, 2**32 - 1))
    if dtype == np.bool_:
        return np.asarray(rng.random(tuple(shape)) < 0.5)
    if dtype.kind in "iu":
        low = 0 if dtype.kind == "u" else -6
        return np.asarray(rng.integers(low, 7, tuple(shape))).astype(dtype)
    plain = rng.uniform(-2, 2, tuple(shape))
    kind = source.integer(0, 3)
    if kind == 1:
        plain = np.round(plain * 2) / 2  # equal values, halves and zeros of both signs
    elif kind == 2:
        plain = np.abs(plain) + 0.1
    array = np.asarray(plain).astype(dtype)
    if special and array.size and source.chance(50):
        flat = array.reshape(-1)
        places = rng.integers(0, flat.size, max(1, flat.size // 5))
        flat[places] = rng.choice(_specials(dtype), places.size)
        array = flat.reshape(tuple(shape))
    return array


def _specials(dtype: np.dtype[Any]) -> Array:
    info = ml_dtypes.finfo(dtype)
    tiny, largest = float(info.smallest_subnormal), float(info.max)
    normal = float(info.smallest_normal)
    values = [np.nan, np.inf, -np.inf, -0.0, 0.0, tiny, -tiny, normal / 2, largest, -largest, 1.0]
    return np.array(values).astype(dtype)
