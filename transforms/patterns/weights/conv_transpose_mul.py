"""Mul(ConvTranspose(x, W, b), k) -> ConvTranspose(x, k * W, k * b).

k is constant: one number, or one per channel by its position (`[C, 1, 1]` on images, not `[C]`).
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.weights.affine_after import AffineAfter


class ConvTransposeMulPattern(AffineAfter):
    """The weights of a ConvTranspose take over the Mul behind it."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.ConvTransposeOp,)
    reader: ClassVar[type[Operation]] = onnx.MulOp
