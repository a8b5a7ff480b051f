"""MatMulInteger and QLinearMatMul through float64, whose sums of 8-bit products are exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces
from onnxloom.lowering.runtime.host_ops.replacements.windows import Array


@replaces("MatMulInteger")
def matmul_integer(
    attributes: Attributes, a: Array, b: Array, a_zero: Array | None = None, b_zero: Array | None = None
) -> Sequence[Any]:
    """int32 products. Zero points are scalars, or one per row of `a` and per column of `b`."""
    return [_product(a, b, a_zero, b_zero).astype(np.int64).astype(np.int32)]


def _product(a: Array, b: Array, a_zero: Array | None, b_zero: Array | None) -> Array:
    left, right = a.astype(np.float64), b.astype(np.float64)
    if a_zero is not None:
        zero = a_zero.astype(np.float64)
        left = left - (zero[..., None] if zero.ndim == 1 and zero.size > 1 else zero)
    if b_zero is not None:
        right = right - b_zero.astype(np.float64)
    return left @ right


@replaces("QLinearMatMul")
def qlinear_matmul(
    attributes: Attributes, a: Array, a_scale: Array, a_zero: Array, b: Array, b_scale: Array, b_zero: Array,
    y_scale: Array, y_zero: Array,
) -> Sequence[Any]:  # fmt: skip
    """Integer product, rescaled, half to even, saturated."""
    sums = _product(a, b, a_zero, b_zero)
    rows = a_scale[..., None] if a_scale.ndim == 1 and a_scale.size > 1 else a_scale
    scale = rows.astype(np.float64) * b_scale.astype(np.float64) / y_scale.astype(np.float64)
    limits = np.iinfo(y_zero.dtype)
    return [
        np.clip(np.rint(sums * scale) + y_zero.astype(np.float64), limits.min, limits.max).astype(
            y_zero.dtype
        )
    ]
