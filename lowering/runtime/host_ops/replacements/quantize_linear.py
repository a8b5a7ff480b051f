"""QuantizeLinear and DequantizeLinear, with quotients and products as kernels find them.

The reference makes the lowest integer of infinity, divides 32-bit integers in f64, and leaves out zero points
of floats.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces
from onnxloom.lowering.runtime.host_ops.replacements.cast import round_to_odd

Array = np.ndarray[Any, Any]

_LIMITS = {
    "int2": (-2, 1), "uint2": (0, 3), "int4": (-8, 7), "uint4": (0, 15),
    "int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535),
}  # fmt: skip
_LARGEST_FP8 = {
    np.dtype(ml_dtypes.float8_e4m3fn): 448.0,
    np.dtype(ml_dtypes.float8_e4m3fnuz): 240.0,
    np.dtype(ml_dtypes.float8_e5m2): 57344.0,
    np.dtype(ml_dtypes.float8_e5m2fnuz): 57344.0,
}
_HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def _spread(parameter: Array, attributes: Attributes, shape: tuple[int, ...]) -> Array:
    """A scale or zero point as it broadcasts to the data."""
    from onnx.reference.ops._quant_utils import reshape_input

    return reshape_input(parameter, shape, attributes.get("axis", 1), attributes.get("block_size", 0))


def _dtype(code: int) -> np.dtype[Any]:
    from onnx import helper

    return np.dtype(helper.tensor_dtype_to_np_dtype(code))


@replaces("QuantizeLinear")
def quantize_linear(
    attributes: Attributes, x: Array, scale: Array, zero: Array | None = None
) -> tuple[Array]:
    """The quotient in the precision of the op, then rounded to the type of the zero point."""
    code = attributes.get("output_dtype", 0)
    dtype = zero.dtype if zero is not None else _dtype(code) if code else np.dtype(np.uint8)
    zero = None if zero is None else _spread(zero, attributes, x.shape)
    with np.errstate(all="ignore"):
        quotient = _quotient(attributes, x, _spread(scale, attributes, x.shape))
        if dtype.name in _LIMITS:
            offset = np.float64(0) if zero is None else zero.astype(np.float64)
            low, high = _LIMITS[dtype.name]
            levels = np.rint(quotient.astype(np.float64)) + offset
            return (np.clip(np.nan_to_num(levels, nan=-np.inf), low, high).astype(np.int32).astype(dtype),)
        if zero is not None:
            offset = zero.astype(quotient.dtype)
            moved = quotient + offset
            quotient = np.where(offset == 0, quotient, moved) if dtype in _LARGEST_FP8 else moved
        if quotient.dtype == np.float64:
            quotient = round_to_odd(quotient)
        largest = _LARGEST_FP8.get(dtype)
        if largest is not None and attributes.get("saturate", 1):
            quotient = np.clip(quotient, np.float32(-largest), np.float32(largest))
        return (quotient.astype(dtype),)


def _quotient(attributes: Attributes, x: Array, scale: Array) -> Array:
    """In f32 or f64, rounded once to the attribute `precision`, else to the type of halves."""
    code = attributes.get("precision", 0)
    wide = np.float64 if x.dtype == scale.dtype == np.int32 else np.float32
    precision = np.dtype(wide)
    if code:
        precision = _dtype(code)
        wide = np.float64 if precision == np.float64 else np.float32
        x, scale = x.astype(wide).astype(precision), scale.astype(wide).astype(precision)
    elif x.dtype == scale.dtype and x.dtype in _HALVES:
        precision = x.dtype
    quotient = x.astype(wide) / scale.astype(wide)
    return quotient.astype(precision).astype(wide)


@replaces("DequantizeLinear")
def dequantize_linear(
    attributes: Attributes, x: Array, scale: Array, zero: Array | None = None
) -> tuple[Array]:
    """The product in f32, rounded once to the type of the result."""
    code = attributes.get("output_dtype", 0)
    dtype = _dtype(code) if code else scale.dtype
    whole = x.dtype.name in _LIMITS or x.dtype == np.int32
    with np.errstate(all="ignore"):
        value = x.astype(np.int32) if whole else x.astype(np.float32)
        if zero is not None:
            value = value - _spread(zero, attributes, x.shape).astype(value.dtype)
        product = value.astype(np.float32) * _spread(scale, attributes, x.shape).astype(np.float32)
        return (np.asarray(product).astype(dtype),)
