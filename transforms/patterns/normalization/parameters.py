"""Which values can be scale and bias of a normalization, and what stands in for one that is not there?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.dialects.onnx.constant import constant_attr
from onnxloom.transforms.patterns.operands import static_dim
from onnxloom.transforms.rewriting.graph_index import GraphIndex

Array: TypeAlias = np.ndarray[Any, Any]
Parameter: TypeAlias = SSAValue | Array
"""A value that is there, or a constant to make."""


def suffix_axis(graph: GraphIndex, data: SSAValue, axes: Sequence[int]) -> int | None:
    """Counted from the end, the first of axes that are all from there to the last of `data`."""
    rank = graph.rank(data)
    if rank is None or tuple(axes) != tuple(range(rank - len(axes), rank)):
        return None
    return -len(axes)


def trailing_parameter(graph: GraphIndex, value: SSAValue, data: SSAValue, axis: int) -> Parameter | None:
    """`value` as a scale or bias with exactly the dims of `data` from the (negative) `axis` on, or None.

    Dims of 1 in front are dropped from constants. One that only broadcasts to the dims is none.
    """
    rank, data_rank = graph.rank(value), graph.rank(data)
    if (
        rank is None
        or data_rank is None
        or not all(graph.same_dim(value, i, data, i) for i in range(axis, 0))
    ):
        return None
    if rank == -axis:
        return value
    constant = graph.constant(value)
    if constant is None or rank > data_rank or any(dim != 1 for dim in constant.shape[:axis]):
        return None
    return constant.reshape(constant.shape[axis:])


def channel_parameter(graph: GraphIndex, value: SSAValue, data: SSAValue) -> Array | None:
    """A constant that broadcasts along axis 1 of `data` only, as a vector with a number per channel."""
    constant, rank, channels = graph.constant(value), graph.rank(data), static_dim(graph, data, 1)
    if constant is None or rank is None or channels is None or constant.ndim > rank:
        return None
    dims = (1,) * (rank - constant.ndim) + constant.shape
    if dims[1] not in (1, channels) or any(dim != 1 for axis, dim in enumerate(dims) if axis != 1):
        return None
    return np.ascontiguousarray(np.broadcast_to(constant.reshape(-1), (channels,)))


def is_uniform(graph: GraphIndex, value: SSAValue, number: float) -> bool:
    """Whether a value is left out, or a constant that holds `number` everywhere."""
    if is_none(value):
        return True
    constant = graph.constant(value)
    return constant is not None and bool((constant == number).all())


def ones(graph: GraphIndex, data: SSAValue, axis: int, dtype: np.dtype[Any]) -> list[Operation]:
    """Ops whose last computes ones with the dims of `data` from the (negative) `axis` on."""
    dims = [static_dim(graph, data, i) for i in range(axis, 0)]
    sizes = [dim for dim in dims if dim is not None]
    if len(sizes) == len(dims):
        return [graph.make_constant(np.ones(sizes, dtype))]
    shape = graph.make(onnx.ShapeOp, [data], start=axis)
    fill = graph.make(onnx.ConstantOfShapeOp, [shape.results[0]], value=constant_attr(np.ones(1, dtype)))
    return [shape, fill]


def materialized(graph: GraphIndex, parameter: Parameter, ops: list[Operation]) -> SSAValue:
    """The parameter as a value; a constant to make is appended to `ops`."""
    if isinstance(parameter, SSAValue):
        return parameter
    ops.append(graph.make_constant(parameter))
    return ops[-1].results[0]
