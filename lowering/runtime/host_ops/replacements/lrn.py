"""LRN: the reference implementation normalizes as many channels as there are images."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]


@replaces("LRN")
def lrn(attributes: Attributes, x: Array) -> list[Array]:
    """`x / (bias + alpha / size * s) ** beta`, s the sum of squares of `size` neighbouring channels."""
    size, alpha = attributes.values["size"], attributes.get("alpha", 1e-4)
    beta, bias = attributes.get("beta", 0.75), attributes.get("bias", 1.0)
    wide = x if x.dtype == np.float64 else x.astype(np.float32)
    squares, sums, channels = wide * wide, np.zeros_like(wide), x.shape[1]
    before = (size - 1) // 2
    for distance in range(-before, size - before):
        low, high = max(0, -distance), min(channels, channels - distance)
        if low < high:
            sums[:, low:high] += squares[:, low + distance : high + distance]
    return [(wide / (bias + alpha / size * sums) ** beta).astype(x.dtype)]
