"""BatchNormalization(Gemm(A, B, C)) -> Gemm(A, s * B, s * beta * C + t), s and t per column.

Inference mode, all parameters constant, variance + epsilon positive: s = gamma / sqrt(variance + epsilon),
t = beta - mean * s.

C, if any, is one number or one per column.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.weights.affine_after import AffineAfter


class GemmBatchNormalizationPattern(AffineAfter):
    """The weights of a Gemm take over the BatchNormalization behind it."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.GemmOp,)
    reader: ClassVar[type[Operation]] = onnx.BatchNormalizationOp
