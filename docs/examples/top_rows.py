"""A custom op with an attribute, two outputs, and a shape function: the rows with the largest sums."""

from __future__ import annotations

from typing import Any

import numpy as np

import onnxloom


def top_rows(x: Any, k: int = 1) -> tuple[Any, Any]:
    """The `k` rows of `x` with the largest sums, largest first, and their numbers."""
    chosen = np.argsort(-x.sum(axis=1), kind="stable")[:k]
    return x[chosen], chosen.astype(np.int64)


def top_rows_shape(x: onnxloom.TensorInfo, k: int = 1) -> list[tuple[Any, Any]]:
    assert x.shape is not None
    return [(x.dtype, (k, x.shape[1])), (np.int64, (k,))]


TOP_ROWS = onnxloom.CustomOp("my.domain", "TopRows", top_rows, top_rows_shape)
"""Makes this file a plug-in: `onnxloom run model.onnx --load-plugin top_rows.py`."""


def session(model: Any) -> onnxloom.InferenceSession:
    """A session that runs the op."""
    options = onnxloom.SessionOptions()
    options.register_custom_op("my.domain", "TopRows", top_rows, shape_fn=top_rows_shape)
    return onnxloom.InferenceSession(model, options)
