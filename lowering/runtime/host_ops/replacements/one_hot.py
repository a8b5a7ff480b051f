"""OneHot: the reference implementation fails when `depth` is a tensor of one element and not a scalar."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]


@replaces("OneHot")
def one_hot(attributes: Attributes, indices: Array, depth: Array, values: Array) -> list[Array]:
    size = int(np.reshape(depth, ()))
    places = np.arange(size)
    wanted = np.asarray(indices).astype(np.int64)
    # Indices outside of [-depth, depth) match no place: all `off`.
    wanted = np.where(wanted < 0, wanted + size, wanted)
    axis = int(attributes.get("axis", -1))
    hot = np.expand_dims(wanted, axis) == places.reshape(_column(wanted.ndim + 1, axis, size))
    off, on = values
    return [np.where(hot, on, off).astype(values.dtype)]  # pyright: ignore[reportUnknownMemberType]


def _column(rank: int, axis: int, size: int) -> tuple[int, ...]:
    shape = [1] * rank
    shape[axis] = size
    return tuple(shape)
