"""Add(BatchNormalization(x, gamma, beta), k) -> BatchNormalization(x, gamma, beta + k).

k is constant: one number, or one per channel by its position (`[C, 1, 1]` on images, not `[C]`). The norm is
not that of the batch.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.weights.affine_after import AffineAfter


class BatchNormalizationAddPattern(AffineAfter):
    """The scale and bias of a BatchNormalization take over the Add behind it."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.BatchNormalizationOp,)
    reader: ClassVar[type[Operation]] = onnx.AddOp
