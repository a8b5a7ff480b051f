"""Slice: the reference takes nothing where a start below the first element is counted down from."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxloom.dialects.onnx.slice_bounds import python_slice
from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]


@replaces("Slice")
def slice_(
    attributes: Attributes,
    data: Array,
    starts: Array,
    ends: Array,
    axes: Array | None = None,
    steps: Array | None = None,
) -> list[Array]:
    """The elements from `starts` to `ends` by `steps` along `axes`, which are the first ones if left out."""
    along = range(len(starts)) if axes is None else axes.tolist()
    by = [1] * len(starts) if steps is None else steps.tolist()
    cuts = [slice(None)] * data.ndim
    for start, end, axis, step in zip(starts.tolist(), ends.tolist(), along, by, strict=True):
        cuts[axis] = python_slice(start, end, step, data.shape[axis])
    return [np.array(data[tuple(cuts)])]
