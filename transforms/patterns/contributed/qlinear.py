"""What are quantized operands and results of an op that computes floats in between?"""

from __future__ import annotations

import numpy as np

from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


def dequantized(inputs: Inputs, name: str, prefix: str | None = None) -> Tensor:
    """Operand `name` as floats; its parameters are `{prefix}_scale` and `{prefix}_zero_point`."""
    scale, zero = (getattr(inputs, f"{prefix or name}_{part}") for part in ("scale", "zero_point"))
    return op.DequantizeLinear(getattr(inputs, name), scale, zero)


def quantized(match: Match, value: Tensor, prefix: str, like: str) -> Tensor:
    """Floats as the integers of the type that operand `like` has, also where no zero point says it."""
    scale, zero = (getattr(match.inputs, f"{prefix}_{part}") for part in ("scale", "zero_point"))
    dtype = match.graph.dtype(match[like])
    if zero is None and dtype is not None:
        zero = np.zeros((), dtype)
    return op.QuantizeLinear(value, scale, zero)
