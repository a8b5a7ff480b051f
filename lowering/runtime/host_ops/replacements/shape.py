"""Shape: the reference implementation does not clamp a negative `start` or `end` below the first axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]


@replaces("Shape")
def shape(attributes: Attributes, x: Array) -> list[Array]:
    """The dims from `start` to `end`, both clamped to 0 .. rank after negative ones were counted back."""
    rank = x.ndim

    def place(axis: int) -> int:
        return min(max(axis + rank if axis < 0 else axis, 0), rank)

    start, end = place(attributes.get("start", 0)), place(attributes.get("end", rank))
    return [np.array(x.shape[start:end], np.int64)]
