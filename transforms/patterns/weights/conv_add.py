"""Add(Conv(x, W, b), k) -> Conv(x, W, b + k).

k is constant: one number, or one per channel by its position (`[C, 1, 1]` on images, not `[C]`).

The weight is not changed and may be anything.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.weights.affine_after import AffineAfter


class ConvAddPattern(AffineAfter):
    """The weights of a Conv take over the Add behind it."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.ConvOp,)
    reader: ClassVar[type[Operation]] = onnx.AddOp
