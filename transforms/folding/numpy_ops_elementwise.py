"""Ops on the elements of bool, integer and IEEE tensors that numpy rounds and wraps as the standard says.

What rounds differently from one library to the next (powers, transcendentals) is not here, nor are the
narrow floats and sub-byte integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.dtypes import dtype_of_element, element_of_proto
from onnxloom.transforms.folding.numpy_op import Array, Inputs, NumpyOp, given, is_native

Result = Sequence[Array] | None
Ufunc = Callable[..., Any]


def _arrays(inputs: Inputs) -> list[Array]:
    return [given(inputs, index) for index in range(len(inputs))]


def _native(arrays: Sequence[Array]) -> bool:
    return all(is_native(array) and array.dtype == arrays[0].dtype for array in arrays)


def _elementwise(function: Ufunc) -> NumpyOp:
    """A ufunc of as many inputs as the op has, all of one type."""

    def run(op: Operation, inputs: Inputs) -> Result:
        arrays = _arrays(inputs)
        return [function(*arrays)] if _native(arrays) else None

    return run


def _variadic(function: Ufunc) -> NumpyOp:
    """A binary ufunc over one input or more, from left to right."""

    def run(op: Operation, inputs: Inputs) -> Result:
        arrays = _arrays(inputs)
        return [reduce(function, arrays)] if _native(arrays) else None

    return run


def _of_floats(function: Ufunc) -> NumpyOp:
    def run(op: Operation, inputs: Inputs) -> Result:
        array = given(inputs, 0)
        return [function(array)] if is_native(array) and array.dtype.kind == "f" else None

    return run


def _div(op: Operation, inputs: Inputs) -> Result:
    left, right = _arrays(inputs)
    if not _native([left, right]):
        return None
    if left.dtype.kind == "f":
        return [np.divide(left, right)]
    if not np.all(right):
        raise ZeroDivisionError("an integer is divided by zero")
    quotient = np.floor_divide(left, right)
    rest = np.remainder(left, right)
    inexact: Array = (rest != 0) & ((left < 0) ^ (right < 0))
    return [quotient + inexact.astype(quotient.dtype)]


def _where(op: Operation, inputs: Inputs) -> Result:
    condition, left, right = _arrays(inputs)
    return [np.where(condition, left, right)] if left.dtype == right.dtype else None


def _cast(op: Operation, inputs: Inputs) -> Result:
    return _converted(given(inputs, 0), dtype_of_element(element_of_proto(int_attr(op, "to"))))


def _cast_like(op: Operation, inputs: Inputs) -> Result:
    return _converted(given(inputs, 0), given(inputs, 1).dtype)


def _converted(array: Array, dtype: np.dtype[Any]) -> Result:
    """None where C leaves the value open (a float beyond an integer's range) or a narrow type rounds."""
    if array.dtype == dtype:
        return [array]
    if not is_native(array) or not is_native(np.empty(0, dtype)):
        return None
    if array.dtype.kind == "f" and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        whole = np.trunc(array.astype(np.float64))
        if not np.all((whole >= float(limits.min)) & (whole < float(limits.max) + 1)):
            return None
    return [array.astype(dtype)]


OPS: Final[dict[type[Operation], NumpyOp]] = {
    onnx.AddOp: _elementwise(np.add),
    onnx.SubOp: _elementwise(np.subtract),
    onnx.MulOp: _elementwise(np.multiply),
    onnx.DivOp: _div,
    onnx.NegOp: _elementwise(np.negative),
    onnx.AbsOp: _elementwise(np.abs),
    onnx.SignOp: _elementwise(np.sign),
    onnx.MinOp: _variadic(np.minimum),
    onnx.MaxOp: _variadic(np.maximum),
    onnx.SumOp: _variadic(np.add),
    onnx.SqrtOp: _of_floats(np.sqrt),
    onnx.FloorOp: _of_floats(np.floor),
    onnx.CeilOp: _of_floats(np.ceil),
    onnx.RoundOp: _of_floats(np.rint),
    onnx.IsNaNOp: _of_floats(np.isnan),
    onnx.EqualOp: _elementwise(np.equal),
    onnx.LessOp: _elementwise(np.less),
    onnx.LessOrEqualOp: _elementwise(np.less_equal),
    onnx.GreaterOp: _elementwise(np.greater),
    onnx.GreaterOrEqualOp: _elementwise(np.greater_equal),
    onnx.AndOp: _elementwise(np.logical_and),
    onnx.OrOp: _elementwise(np.logical_or),
    onnx.XorOp: _elementwise(np.logical_xor),
    onnx.NotOp: _elementwise(np.logical_not),
    onnx.BitwiseAndOp: _elementwise(np.bitwise_and),
    onnx.BitwiseOrOp: _elementwise(np.bitwise_or),
    onnx.BitwiseXorOp: _elementwise(np.bitwise_xor),
    onnx.BitwiseNotOp: _elementwise(np.bitwise_not),
    onnx.WhereOp: _where,
    onnx.CastOp: _cast,
    onnx.CastLikeOp: _cast_like,
}
