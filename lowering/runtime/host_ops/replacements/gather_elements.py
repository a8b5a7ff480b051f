"""GatherElements whose indices are smaller than the data along other axes (the reference refuses them)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces


@replaces("GatherElements")
def gather_elements(attributes: Attributes, data: Any, indices: Any) -> Sequence[Any]:
    """out[i][j] = data[index[i][j]][j] for axis 0."""
    axis = attributes.get("axis", 0) % max(data.ndim, 1)
    size = data.shape[axis]
    if indices.size and (indices.min() < -size or indices.max() >= size):
        raise ValueError(f"an index is outside of [{-size}, {size - 1}]")
    where = list(np.ogrid[tuple(slice(n) for n in indices.shape)])
    where[axis] = np.where(indices < 0, indices + size, indices)
    return [data[tuple(where)]]
