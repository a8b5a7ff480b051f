"""LpNormalization: the reference implementation forgets the absolute value, which counts for p = 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]


@replaces("LpNormalization")
def lp_normalization(attributes: Attributes, x: Array) -> list[Array]:
    """`x / norm` along an axis; 0 where the norm is."""
    p = attributes.get("p", 2)
    wide = x if x.dtype == np.float64 else x.astype(np.float32)
    sums = (np.abs(wide) ** p).sum(axis=attributes.get("axis", -1), keepdims=True)
    norm = sums ** (1 / p)
    return [np.where(norm == 0, 0, wide / norm).astype(x.dtype)]
