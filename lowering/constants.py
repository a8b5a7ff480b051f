"""The numbers in `arith.constant` ops, as an emitter needs them."""

from __future__ import annotations

from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import SSAValue

from onnxloom.lowering.small_floats import SmallFloat

_NUMPY_NAMES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "f8e8m0fnu": ml_dtypes.float8_e8m0fnu,
    "f6e2m3fn": ml_dtypes.float6_e2m3fn,
    "f6e3m2fn": ml_dtypes.float6_e3m2fn,
    "f4e2m1fn": ml_dtypes.float4_e2m1fn,
}


def constant_bits(value: float, form: SmallFloat) -> int:
    """The bits of `value` in a narrow format."""
    array = np.array(value, np.float64).astype(_NUMPY_NAMES[form.name])
    return int(array.view(np.uint16 if form.width == 16 else np.uint8))


def float_constant(value: SSAValue) -> float | None:
    """The number an `arith.constant` of float type holds, None for any other value."""
    op = value.owner
    if not isinstance(op, arith.ConstantOp) or not isinstance(op.value, FloatAttr):
        return None
    return cast("FloatAttr[Any]", op.value).value.data


def int_constant(value: SSAValue) -> int | None:
    """The number an `arith.constant` of integer or index type holds, None for any other value."""
    op = value.owner
    if not isinstance(op, arith.ConstantOp) or not isinstance(op.value, IntegerAttr):
        return None
    return cast("IntegerAttr[Any]", op.value).value.data
