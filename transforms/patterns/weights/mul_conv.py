"""Conv(Mul(x, k), W, b) -> Conv(x, k * W, b).

k is constant: one number, or one per channel of x by its position (`[C, 1, 1]` on images, not `[C]`).
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.weights.affine_before import AffineBeforeConv


class MulConvPattern(AffineBeforeConv):
    """The weights of a Conv take over the Mul before it."""

    maker: ClassVar[type[Operation]] = onnx.MulOp
