"""What is known of the elements of an array: float or integer, their size, how far two floats are apart.

`ml_dtypes` types included, which numpy knows as kind `V` only.
"""

from __future__ import annotations

from functools import cache
from typing import Any, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether elements are real floats of any width."""
    return dtype.kind == "f" or dtype.name.startswith(("bfloat", "float"))


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Whether elements are integers of any width; bools are not."""
    return dtype.kind in "iu" or dtype.name.startswith(("int", "uint"))


def magnitudes(array: Array) -> Array:
    """Floats of any width in float64, which holds each exactly."""
    return array.astype(np.float64)


@cache
def float_info(dtype: np.dtype[Any]) -> Any:
    """`finfo` of any float type."""
    return cast(Any, ml_dtypes.finfo)(dtype)


def step_of(dtype: np.dtype[Any]) -> float:
    """The distance from 1.0 to the next larger float of the type."""
    return float(float_info(dtype).eps)


def ulps(want: Array, got: Array) -> Array:
    """How many representable floats each pair is apart, in float64; 0.0 and -0.0 are not apart."""
    signs, sizes = zip(_bits(want), _bits(got), strict=True)
    low, high = np.minimum(*sizes), np.maximum(*sizes)
    return np.where(signs[0] == signs[1], high - low, high + low).astype(np.float64)


def _bits(array: Array) -> tuple[Array, Array]:
    """Sign and distance from zero, in representable values, of each float."""
    width = int(float_info(array.dtype).bits)
    native = array.astype(array.dtype.newbyteorder("="), order="C")
    patterns = native.view(f"u{array.dtype.itemsize}").astype(np.uint64)
    if array.dtype.name == "float8_e8m0fnu":
        return np.zeros(array.shape, bool), patterns
    sign = np.uint64(1 << (width - 1))
    return cast(Array, patterns & sign) != 0, cast(Array, patterns & (sign - np.uint64(1)))
