"""BatchNormalization(Conv(x, W, b)) -> Conv(x, s * W, s * b + t), s and t per output channel.

Inference mode, all parameters constant, variance + epsilon positive: s = gamma / sqrt(variance + epsilon),
t = beta - mean * s.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.weights.affine_after import AffineAfter


class ConvBatchNormalizationPattern(AffineAfter):
    """The weights of a Conv take over the BatchNormalization behind it."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.ConvOp,)
    reader: ClassVar[type[Operation]] = onnx.BatchNormalizationOp
