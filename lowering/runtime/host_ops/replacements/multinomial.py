"""Multinomial, which the reference implementation lacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]


@replaces("Multinomial")
def multinomial(attributes: Attributes, x: Array) -> list[Array]:
    """Draws with replacement: log-probabilities `[batch, classes]` -> classes `[batch, sample_size]`."""
    from onnx.helper import tensor_dtype_to_np_dtype

    seed, count = attributes.get("seed"), attributes.get("sample_size", 1)
    generator = np.random.default_rng(None if seed is None else np.float64(seed).view(np.uint64))
    weights = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    bounds = np.cumsum(weights, axis=1)
    draws = generator.random((x.shape[0], count)) * bounds[:, -1:]
    dtype = tensor_dtype_to_np_dtype(attributes.get("dtype", 6))
    y = np.empty((x.shape[0], count), dtype)
    for row, bound, draw in zip(y, bounds, draws, strict=True):
        row[:] = np.searchsorted(bound, draw, side="right")
    return [y]
