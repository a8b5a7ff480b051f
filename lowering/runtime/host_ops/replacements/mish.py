"""Mish: the reference implementation stays in 16 bits, where a small Softplus keeps few of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = npt.NDArray[Any]


@replaces("Mish")
def mish(attributes: Attributes, x: Array) -> Sequence[Any]:
    """`x * tanh(log(1 + exp(x)))`; 16-bit numbers in f32."""
    wide = x if x.dtype == np.float64 else x.astype(np.float32)
    with np.errstate(all="ignore"):
        return [np.asarray(wide * np.tanh(np.logaddexp(wide.dtype.type(0), wide))).astype(x.dtype)]
