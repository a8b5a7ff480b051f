"""Conv(BatchNormalization(x), W, b) -> Conv(x, s * W, b + sum of t * W), s and t per input channel.

Inference mode, all parameters constant, variance + epsilon positive: s = gamma / sqrt(variance + epsilon),
t = beta - mean * s. Where t is not 0, the Conv does not pad.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.weights.affine_before import AffineBeforeConv


class BatchNormalizationConvPattern(AffineBeforeConv):
    """The weights of a Conv take over the BatchNormalization before it."""

    maker: ClassVar[type[Operation]] = onnx.BatchNormalizationOp
