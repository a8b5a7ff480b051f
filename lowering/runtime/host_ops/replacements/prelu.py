"""PRelu: the slope multiplies negative numbers only, so that an infinite one leaves zeros alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = npt.NDArray[Any]


@replaces("PRelu")
def prelu(attributes: Attributes, x: Array, slope: Array) -> Sequence[Any]:
    """`x < 0 ? slope * x : x`"""
    with np.errstate(all="ignore"):
        return [np.where(x < 0, x * slope, x).astype(x.dtype)]
