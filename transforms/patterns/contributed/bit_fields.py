"""How do bytes that hold numbers of 2, 4 or 8 bits become one number each? By shifts and masks."""

from __future__ import annotations

import numpy as np

from onnxloom.transforms.rewriting.declarative import Tensor, op


def unpacked(packed: Tensor, bits: int) -> Tensor:
    """uint8 `[.., bytes]` as `[.., 8 / bits * bytes]`, the number in the low bits first."""
    if bits == 8:
        return packed
    fields: list[Tensor] = []
    for at in range(0, 8, bits):
        shifted = op.BitShift(packed, np.array(at, np.uint8), direction="RIGHT") if at else packed
        is_last = at + bits == 8
        field = shifted if is_last else op.BitwiseAnd(shifted, np.array((1 << bits) - 1, np.uint8))
        fields.append(op.Unsqueeze(field, [-1]))
    joined = op.Concat(*fields, axis=-1)
    # The width is said: among dims of 0 it cannot be inferred.
    width = op.Shape(packed, start=-1) * (8 // bits)
    shape = op.Concat(op.Shape(packed, start=0, end=-1), width, axis=0)
    return op.Reshape(joined, shape)
