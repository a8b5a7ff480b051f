"""Cast and CastLike: the reference rounds f64 to bf16 twice, and has f8E8M0 not as the standard's table says.

Of NaN and infinity in 8 bits it also makes other integers than of those in 32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]

_EXPONENT = np.dtype(ml_dtypes.float8_e8m0fnu)
_NARROW = {
    np.dtype(t)
    for t in (
        np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz,
        ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz, ml_dtypes.float8_e8m0fnu,
        ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn, ml_dtypes.float4_e2m1fn,
    )
}  # fmt: skip


@replaces("Cast")
def cast(attributes: Attributes, x: Array) -> tuple[Array]:
    """The type is that of the attribute `to`."""
    return (_converted(attributes, x, attributes.get("to")),)


@replaces("CastLike")
def cast_like(attributes: Attributes, x: Array, like: Array) -> tuple[Array]:
    """The type is that of the second input."""
    from onnx import TensorProto, helper

    code = TensorProto.STRING if like.dtype.kind in "USO" else helper.np_dtype_to_tensor_dtype(like.dtype)
    return (_converted(attributes, x, code),)


def _converted(attributes: Attributes, x: Array, code: int) -> Array:
    from onnx import TensorProto, helper
    from onnx.reference.ops import op_cast

    cast_to: Callable[..., Array] = op_cast.cast_to
    saturate = bool(attributes.get("saturate", 1))
    with np.errstate(all="ignore"):
        if code == TensorProto.STRING or x.dtype.kind in "USO":
            return cast_to(x, code, saturate)
        dtype: np.dtype[Any] = np.dtype(helper.tensor_dtype_to_np_dtype(code))
        if x.dtype == dtype:
            return x
        if x.dtype == np.float64 and dtype in _NARROW:
            x = round_to_odd(x)
        elif x.dtype in _NARROW:
            x = x.astype(np.float32)
        elif x.dtype.kind == "V":
            x = x.astype(np.int32)
        if dtype == _EXPONENT:
            return to_exponent(x.astype(np.float32), saturate, attributes.get("round_mode", "up"))
        return cast_to(x, code, saturate)


def round_to_odd(x: Array) -> Array:
    """f64 as f32, inexact results with an odd last bit: rounding that again rounds once."""
    near = x.astype(np.float32)
    back = near.astype(np.float64)
    step = np.where(np.abs(back) > np.abs(x), -1, 1).astype(np.int32)
    bits = near.view(np.int32)
    change = (back != x) & ~np.isnan(x) & (bits & 1 == 0)
    return np.where(change, bits + step, bits).astype(np.int32).view(np.float32).reshape(x.shape)


def to_exponent(x: Array, saturate: bool, round_mode: str) -> Array:
    """f32 as f8E8M0, by the table of Cast."""
    exact = np.clip(np.nan_to_num(x, nan=1.0), 2.0**-127, 2.0**127).astype(np.float64)
    fraction, exponent = np.frexp(exact)
    if round_mode == "up":
        exponent = exponent + (fraction > 0.5)
    elif round_mode == "nearest":
        exponent = exponent + (fraction >= 0.75)
    result = np.asarray(exponent + 126).astype(np.uint8)
    outside = np.isnan(x) if saturate else ~((x >= 2.0**-127) & (x <= 2.0**127))
    return np.where(outside, np.uint8(255), result).astype(np.uint8).view(_EXPONENT)
