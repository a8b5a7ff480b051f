"""Flatten: the reference infers the second dim from the number of elements, which it cannot if that is 0."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]


@replaces("Flatten")
def flatten(attributes: Attributes, x: Array) -> list[Array]:
    """A matrix: the dims before `axis`, and the others."""
    axis = attributes.get("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    return [x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))]
