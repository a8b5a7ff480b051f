"""HardSwish: the reference implementation takes 1/6 in f32, also for f64."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]


@replaces("HardSwish")
def hard_swish(attributes: Attributes, x: Array) -> list[Array]:
    """`x * clip(x / 6 + 1/2, 0, 1)`; 16-bit numbers in f32."""
    wide = x if x.dtype == np.float64 else x.astype(np.float32)
    with np.errstate(all="ignore"):
        return [np.asarray(wide * np.clip(wide * wide.dtype.type(1 / 6) + 0.5, 0, 1)).astype(x.dtype)]
