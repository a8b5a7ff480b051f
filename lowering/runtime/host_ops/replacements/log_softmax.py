"""LogSoftmax: the reference implementation takes the logarithm of a Softmax that may be rounded to 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]


@replaces("LogSoftmax")
def log_softmax(attributes: Attributes, x: Array) -> list[Array]:
    """`d - log(sum(exp(d)))` with d = x - max(x), along `axis`; 16-bit numbers in f32."""
    axis = attributes.get("axis", -1)
    if x.size == 0:
        return [x]
    wide = x if x.dtype == np.float64 else x.astype(np.float32)
    with np.errstate(all="ignore"):
        shifted = wide - wide.max(axis=axis, keepdims=True)
        return [(shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))).astype(x.dtype)]
