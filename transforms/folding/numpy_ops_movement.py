"""Ops that move elements and compute none: the same for every element type, strings included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, ints_attr, opt_int_attr
from onnxloom.dialects.onnx.slice_bounds import python_slice
from onnxloom.transforms.folding.numpy_op import (
    Array,
    Inputs,
    NumpyOp,
    axis_of,
    given,
    ints,
    result_count,
)

One = Sequence[Array]


def _identity(op: Operation, inputs: Inputs) -> One:
    return [given(inputs, 0)]


def _reshape(op: Operation, inputs: Inputs) -> One:
    data, target = given(inputs, 0), ints(given(inputs, 1))
    if int_attr(op, "allowzero") == 0:
        target = [data.shape[axis] if dim == 0 else dim for axis, dim in enumerate(target)]
    return [data.reshape(target)]


def _flatten(op: Operation, inputs: Inputs) -> One:
    data = given(inputs, 0)
    axis = int_attr(op, "axis")
    if not -data.ndim <= axis <= data.ndim:
        raise ValueError(f"axis {axis} is outside of a tensor of rank {data.ndim}")
    rows = int(np.prod(data.shape[:axis], dtype=np.int64))
    return [data.reshape(rows, int(np.prod(data.shape[axis:], dtype=np.int64)))]


def _squeeze(op: Operation, inputs: Inputs) -> One:
    data, axes = given(inputs, 0), inputs[1]
    if axes is None:
        return [np.squeeze(data)]
    return [np.squeeze(data, axis=tuple(ints(axes)))]


def _unsqueeze(op: Operation, inputs: Inputs) -> One:
    return [np.expand_dims(given(inputs, 0), axis=tuple(ints(given(inputs, 1))))]


def _transpose(op: Operation, inputs: Inputs) -> One:
    return [np.transpose(given(inputs, 0), ints_attr(op, "perm"))]


def _concat(op: Operation, inputs: Inputs) -> One:
    return [np.concatenate([given(inputs, i) for i in range(len(inputs))], axis=int_attr(op, "axis"))]


def _gather(op: Operation, inputs: Inputs) -> One:
    return [np.take(given(inputs, 0), given(inputs, 1), axis=int_attr(op, "axis"))]


def _slice(op: Operation, inputs: Inputs) -> One:
    data = given(inputs, 0)
    starts, ends = ints(given(inputs, 1)), ints(given(inputs, 2))
    axes, steps = inputs[3], inputs[4]
    along = list(range(len(starts))) if axes is None else ints(axes)
    by = [1] * len(starts) if steps is None else ints(steps)
    slices = [slice(None)] * data.ndim
    for start, end, axis, step in zip(starts, ends, along, by, strict=True):
        place = axis_of(axis, data.ndim)
        slices[place] = python_slice(start, end, step, data.shape[place])
    return [data[tuple(slices)]]


def _split(op: Operation, inputs: Inputs) -> One:
    data, lengths = given(inputs, 0), inputs[1]
    axis = axis_of(int_attr(op, "axis"), data.ndim)
    size = data.shape[axis]
    if lengths is not None:
        parts = ints(lengths)
    else:
        count = opt_int_attr(op, "num_outputs") or result_count(op)
        each = -(-size // count)
        parts = [each] * (count - 1) + [size - each * (count - 1)]
    if sum(parts) != size or min(parts, default=0) < 0:
        raise ValueError(f"a dim of {size} does not split into {parts}")
    bounds = [sum(parts[:index]) for index in range(1, len(parts))]
    return np.split(data, bounds, axis=axis)


def _expand(op: Operation, inputs: Inputs) -> One:
    data = given(inputs, 0)
    shape = np.broadcast_shapes(data.shape, tuple(ints(given(inputs, 1))))
    return [np.broadcast_to(data, shape)]


def _tile(op: Operation, inputs: Inputs) -> One:
    data, repeats = given(inputs, 0), ints(given(inputs, 1))
    if len(repeats) != data.ndim:
        raise ValueError(f"{len(repeats)} repeats for an input of rank {data.ndim}")
    return [np.tile(data, repeats)]


OPS: Final[dict[type[Operation], NumpyOp]] = {
    onnx.IdentityOp: _identity,
    onnx.ReshapeOp: _reshape,
    onnx.FlattenOp: _flatten,
    onnx.SqueezeOp: _squeeze,
    onnx.UnsqueezeOp: _unsqueeze,
    onnx.TransposeOp: _transpose,
    onnx.ConcatOp: _concat,
    onnx.GatherOp: _gather,
    onnx.SliceOp: _slice,
    onnx.SplitOp: _split,
    onnx.ExpandOp: _expand,
    onnx.TileOp: _tile,
}
