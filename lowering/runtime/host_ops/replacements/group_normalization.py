"""GroupNormalization: the body in the standard subtracts squares of the same size, which cancel."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]


@replaces("GroupNormalization")
def group_normalization(attributes: Attributes, x: Array, scale: Array, bias: Array) -> list[Array]:
    """Each group of channels to mean 0 and variance 1, then scaled per channel; in f32 or f64."""
    wide = x if x.dtype == np.float64 else x.astype(np.float32)
    groups = wide.reshape(x.shape[0], attributes.values["num_groups"], -1)
    centred = groups - groups.mean(axis=2, keepdims=True)
    variance = (centred * centred).mean(axis=2, keepdims=True)
    epsilon = wide.dtype.type(attributes.get("epsilon", 1e-5))
    normal = (centred / np.sqrt(variance + epsilon)).reshape(x.shape)
    per_channel = (1, -1, *[1] * (x.ndim - 2))
    scaled = normal.astype(x.dtype) * scale.reshape(per_channel) + bias.reshape(per_channel)
    return [scaled.astype(x.dtype)]
