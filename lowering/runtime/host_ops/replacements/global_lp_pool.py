"""GlobalLpPool, which the reference implementation lacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]


@replaces("GlobalLpPool")
def global_lp_pool(attributes: Attributes, x: Array) -> list[Array]:
    """The p-norm over all spatial dims, kept as dims of 1."""
    p = attributes.get("p", 2)
    wide = x if x.dtype == np.float64 else x.astype(np.float32)
    sums = (np.abs(wide) ** p).sum(axis=tuple(range(2, x.ndim)), keepdims=True)
    return [(sums ** (1 / p)).astype(x.dtype)]
