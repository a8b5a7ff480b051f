"""BatchNormalization(ConvTranspose(x, W, b)) -> ConvTranspose(x, s * W, s * b + t).

Inference mode, all parameters constant, variance + epsilon positive: s = gamma / sqrt(variance + epsilon),
t = beta - mean * s.

The output channels are axis 1 of W, once more for each group.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.weights.affine_after import AffineAfter


class ConvTransposeBatchNormalizationPattern(AffineAfter):
    """The weights of a ConvTranspose take over the BatchNormalization behind it."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.ConvTransposeOp,)
    reader: ClassVar[type[Operation]] = onnx.BatchNormalizationOp
