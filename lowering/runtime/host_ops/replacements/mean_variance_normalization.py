"""MeanVarianceNormalization: the function body of the standard adds f32 constants to data of any type."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]


@replaces("MeanVarianceNormalization")
def mean_variance_normalization(attributes: Attributes, x: Array) -> tuple[Array]:
    """As the body has it: the variance from the means of x and of its square, 1e-9 added to its root."""
    wide = x if x.dtype == np.float64 else x.astype(np.float32)
    axes = tuple(attributes.get("axes", (0, 2, 3)))
    mean = wide.mean(axis=axes, keepdims=True)
    variance = (wide * wide).mean(axis=axes, keepdims=True) - mean * mean
    return (((wide - mean) / (np.sqrt(variance) + wide.dtype.type(1e-9))).astype(x.dtype),)
