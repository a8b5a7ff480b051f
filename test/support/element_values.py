"""Arrays of every element type of the standard, special values among them, and how they are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper

Array = np.ndarray[Any, Any]

FLOATS = (
    "float", "double", "float16", "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
    "float8e5m2fnuz", "float8e8m0", "float6e2m3", "float6e3m2", "float4e2m1",
)  # fmt: skip
INTEGERS = (
    "int2", "uint2", "int4", "uint4", "int8", "uint8", "int16", "uint16",
    "int32", "uint32", "int64", "uint64",
)  # fmt: skip
NUMBERS = (*FLOATS, *INTEGERS, "bool")
TYPES = (*NUMBERS, "complex64", "complex128", "string")
"""As the standard's type constraints name them: `tensor(float16)` is `float16`."""

_BITS = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "float6e2m3": 6, "float6e3m2": 6, "float4e2m1": 4}
_CORNERS = (
    0.0, -0.0, 0.5, 1.0, 1.5, 2.5, 3.5, 6.0, 7.5, 8.5, 15.5, 127.0, 127.9, 128.5, 240.0, 248.0, 255.9, 256.0,
    448.0, 464.0, 464.1, 480.0, 57344.0, 61440.0, 61441.0, 65504.0, 65519.0, 65520.0, 2.0**31, 2.0**31 + 1,
    2.0**32, 2.0**63, 2.0**64, 1.7e38, 2.0**127, 2.0e38, 3.4e38, 1e39, 1e300, np.inf, np.nan, 0.25, 0.75,
    1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-8, 1 + 2.0**-8 + 2.0**-30, 2.0**-6, 2.0**-9,
    2.0**-10, 1.1 * 2.0**-10, 2.0**-16, 2.0**-17, 2.0**-126, 1.5 * 2.0**-127, 2.0**-127, 2.0**-128,
    2.0**-149, 2.0**-150, 1e-320,
)  # fmt: skip
"""Where formats end, begin to be denormal, or round to even; 1e39 and 1e-320 are for f64 alone."""


def code_of(name: str) -> int:
    """The standard's number of an element type."""
    return TensorProto.DataType.Value(name.upper())


def dtype_of(name: str) -> np.dtype[Any]:
    """numpy's, or `ml_dtypes`'."""
    return np.dtype(helper.tensor_dtype_to_np_dtype(code_of(name)))


def bits_of(name: str) -> int:
    """Bits of one element that count."""
    return _BITS.get(name, 8 * dtype_of(name).itemsize)


def every_pattern(name: str) -> Array:
    """Each value of a type of up to 8 bits."""
    return np.arange(1 << bits_of(name), dtype=np.uint8).view(dtype_of(name))


def values(name: str, count: int, seed: int = 0) -> Array:
    """`count` random values of a number type, about half of them special ones."""
    rng = np.random.default_rng(seed)
    if name == "bool":
        return rng.integers(0, 2, count).astype(np.bool_)
    if bits_of(name) <= 8:
        return rng.choice(every_pattern(name), count)
    dtype = dtype_of(name)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        corners = [v + d for k in range(1, 65) for v in (1 << k, -(1 << k)) for d in (-1, 0, 1)]
        special = np.array([v for v in corners if limits.min <= v <= limits.max], dtype)
        evenly = rng.integers(limits.min, limits.max, count, dtype=dtype, endpoint=True)
        return np.where(rng.random(count) < 0.5, rng.choice(special, count), evenly)
    bits = rng.integers(0, 1 << 63, count, dtype=np.uint64)
    patterns = (bits >> np.uint64(63 - 8 * dtype.itemsize if dtype.itemsize < 8 else 0)).astype(
        f"u{dtype.itemsize}"
    )
    with np.errstate(all="ignore"):
        signed = rng.choice([-1.0, 1.0], count)
        special = (rng.choice(_CORNERS, count) * signed).astype(dtype)
        moderate = (rng.normal(size=count) * 10.0 ** rng.integers(-6, 7, count)).astype(dtype)
    chosen = rng.random(count)
    return np.where(chosen < 0.5, special, np.where(chosen < 0.8, moderate, patterns.view(dtype)))


def corners(name: str) -> Array:
    """All special values of a type, with both signs; every value of a type of up to 8 bits."""
    if name == "bool":
        return np.array([False, True])
    if bits_of(name) <= 8:
        return every_pattern(name)
    if dtype_of(name).kind in "iu":
        return values(name, 400, 1)
    with np.errstate(all="ignore"):
        special = np.array([*_CORNERS, *(-c for c in _CORNERS)]).astype(dtype_of(name))
    return np.concatenate([special, values(name, 200, 1)])


def same_bits(left: Array, right: Array, name: str) -> Array:
    """Where two arrays of a type are the same bit for bit; NaNs are, whatever their payload."""
    assert left.dtype == right.dtype and left.shape == right.shape, (left.dtype, right.dtype)
    if name == "string":
        return np.asarray(left == right)
    if name.startswith("complex"):
        part = "float" if name == "complex64" else "double"
        parts = [np.ascontiguousarray(a).view(dtype_of(part)) for a in (left, right)]
        return same_bits(parts[0], parts[1], part)
    mask = np.uint64((1 << bits_of(name)) - 1)
    words = [np.ascontiguousarray(a).view(f"u{a.itemsize}").astype(np.uint64) & mask for a in (left, right)]
    same = words[0] == words[1]
    if name in FLOATS:
        with np.errstate(all="ignore"):
            same |= np.isnan(left.astype(np.float64)) & np.isnan(right.astype(np.float64))
    return same


def as_f64(array: Array) -> Array:
    """Numbers of any type as f64, for comparisons with a tolerance."""
    with np.errstate(all="ignore"):
        return array.astype(np.float32 if array.dtype.kind == "V" else array.dtype).astype(np.float64)


def unpacked_name(dtype: np.dtype[Any]) -> str:
    """The standard's name of a dtype."""
    return TensorProto.DataType.Name(helper.np_dtype_to_tensor_dtype(dtype)).lower()
