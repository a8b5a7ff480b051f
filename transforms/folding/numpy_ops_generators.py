"""Ops that make tensors of shapes, counts and fill values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import attr, int_attr, opt_int_attr
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.transforms.folding.numpy_op import Array, Inputs, NumpyOp, axis_of, given, ints


def _shape(op: Operation, inputs: Inputs) -> Sequence[Array]:
    shape = given(inputs, 0).shape
    return [np.array(shape[int_attr(op, "start") : opt_int_attr(op, "end")], np.int64)]


def _size(op: Operation, inputs: Inputs) -> Sequence[Array]:
    return [np.array(given(inputs, 0).size, np.int64)]


def _dim(op: Operation, inputs: Inputs) -> Sequence[Array]:
    shape = given(inputs, 0).shape
    return [np.array([shape[axis_of(int_attr(op, "axis", 0), len(shape))]], np.int64)]


def _constant_of_shape(op: Operation, inputs: Inputs) -> Sequence[Array]:
    value = constant_value(attr(op, "value"))
    fill = np.zeros((), np.float32) if value is None else value.reshape(())
    return [np.broadcast_to(fill, tuple(ints(given(inputs, 0))))]


def _range(op: Operation, inputs: Inputs) -> Sequence[Array] | None:
    start, limit, delta = (given(inputs, index) for index in range(3))
    # The float forms round the way the reference does, which is its own business.
    if start.dtype.kind not in "iu":
        return None
    values = np.arange(start.item(), limit.item(), delta.item(), dtype=np.int64)
    return [values.astype(start.dtype)]


OPS: Final[dict[type[Operation], NumpyOp]] = {
    onnx.ShapeOp: _shape,
    onnx.SizeOp: _size,
    onnx.DimOp: _dim,
    onnx.ConstantOfShapeOp: _constant_of_shape,
    onnx.RangeOp: _range,
}
