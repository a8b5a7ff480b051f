"""Which weights does a linear op have, and which of their axes belong to the channels of its result?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, cast

import ml_dtypes
import numpy as np
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import bool_attr, float_attr, int_attr, is_none
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.weights.per_channel import per_channel
from onnxloom.transforms.rewriting.constants import Array
from onnxloom.transforms.rewriting.graph_index import GraphIndex

FLOATS: Final = tuple(map(np.dtype, (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)))
"""Element types of weights that are changed."""


@dataclass(frozen=True)
class Linear:
    """A Conv, ConvTranspose, Gemm, MatMul or BatchNormalization whose weights have static dims."""

    op: Operation
    weight: SSAValue
    bias: SSAValue | None
    dims: tuple[int, ...]
    """Of the weight."""

    rank: int
    """Of the result."""

    axis: int
    """Of the result: the one that the weight has entries for."""

    channels: int
    """Along that axis."""

    bias_factor: float = 1.0

    def spread(self, numbers: Array) -> Array:
        """Numbers per channel of the result, so that they multiply the weight's entries of their channel."""
        rest = (1,) * (len(self.dims) - 2)
        match self.op:
            case onnx.ConvOp():
                return numbers.reshape(-1, 1, *rest)
            case onnx.ConvTransposeOp():
                groups = self.channels // self.dims[1]
                rows = np.repeat(numbers.reshape(groups, -1), self.dims[0] // groups, axis=0)
                return rows.reshape(*rows.shape, *rest)
            case onnx.GemmOp() if bool_attr(self.op, "transB"):
                return numbers.reshape(-1, 1)
            case _:
                return numbers


def linear_of(graph: GraphIndex, op: Operation) -> Linear | Miss:
    """The weights of an op."""
    weight = op.operands[1]
    dims, dtype = graph.static_shape(weight), graph.dtype(weight)
    if dims is None or dtype not in FLOATS:
        return no_match(op, "the dims of the weight are not known, or its numbers are no floats")
    bias = None if len(op.operands) < 3 or is_none(op.operands[2]) else op.operands[2]
    match op:
        case onnx.ConvOp():
            return Linear(op, weight, bias, dims, len(dims), 1, dims[0])
        case onnx.ConvTransposeOp():
            return Linear(op, weight, bias, dims, len(dims), 1, dims[1] * int_attr(op, "group"))
        case onnx.GemmOp():
            channels = dims[0 if bool_attr(op, "transB") else 1]
            return Linear(op, weight, bias, dims, 2, 1, channels, float_attr(op, "beta"))
        case onnx.BatchNormalizationOp():
            rank = graph.rank(op.Y)
            if rank is None or rank < 2 or bool_attr(op, "training_mode"):
                return no_match(op, "the rank is not known, or the norm is that of the batch")
            return Linear(op, weight, bias, dims, rank, 1, dims[0])
        case _:
            rank = graph.rank(op.results[0])
            if rank is None or rank < 2 or len(dims) != 2:
                return no_match(op, "the weight is no matrix, or the rank of the result is not known")
            return Linear(op, weight, None, dims, rank, rank - 1, dims[1])


def own_constant(graph: GraphIndex, op: Operation, value: SSAValue) -> Array | Miss:
    """The array of a constant that only `op` reads, and reads once; of a vector, which costs next to nothing,
    in any case.
    """
    array = graph.constant(value)
    if array is None:
        return no_match(op, "the weight is not constant")
    readers = [use.operation for use in value.uses if use.operation.parent is not None]
    if array.ndim > 1 and readers != [op]:
        return no_match(op, "something else reads the weight too")
    return array


def bias_of(graph: GraphIndex, linear: Linear) -> Array | None | Miss:
    """What is added per channel, in 64-bit floats; None where nothing is.

    Something else may read it too: equal ones are merged, and a new one costs next to nothing.
    """
    if linear.bias is None:
        return None
    array = graph.constant(linear.bias)
    if array is None:
        return no_match(linear.op, "the bias is not constant")
    numbers = per_channel(array, linear.rank, linear.axis, linear.channels) if linear.rank == 2 else array
    if numbers is None or numbers.shape != (linear.channels,):
        return no_match(linear.op, "the bias is not one number per channel")
    return numbers.astype(np.float64) * linear.bias_factor


def rounded(op: Operation, array: Array, dtype: np.dtype[np.generic]) -> Array | Miss:
    """An array of 64-bit floats in another type, if all of it is finite there."""
    with np.errstate(over="ignore", invalid="ignore"):
        result = array.astype(dtype)
    if not np.isfinite(result).all():
        return no_match(op, "a folded weight would not be finite")
    return result


def rounded_weight(op: Operation, array: Array, dtype: np.dtype[np.generic]) -> Array | Miss:
    """The same for what multiplies the input, if its numbers keep their digits.

    A small scale pushes 16-bit weights below the smallest normal number, where they have few.
    """
    result = rounded(op, array, dtype)
    if isinstance(result, Miss):
        return result
    lost = np.abs(result.astype(np.float64) - array).max(initial=0.0)
    if lost > float(cast(Any, ml_dtypes.finfo)(dtype).eps) * np.abs(array).max(initial=0.0):
        return no_match(op, "a folded weight would lose digits")
    return result


def replaced(
    graph: GraphIndex, array: Array | None, before: SSAValue | None, made: list[Operation]
) -> SSAValue | None:
    """A constant of the array, appended to the ops made; without an array the value as before."""
    if array is None:
        return before
    made.append(graph.make_constant(array))
    return made[-1].results[0]
