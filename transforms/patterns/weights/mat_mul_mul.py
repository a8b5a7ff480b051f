"""Mul(MatMul(x, W), k) -> MatMul(x, k * W), W a matrix and k a constant: one number, or one per column."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.weights.affine_after import AffineAfter


class MatMulMulPattern(AffineAfter):
    """The weights of a MatMul take over the Mul behind it."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.MatMulOp,)
    reader: ClassVar[type[Operation]] = onnx.MulOp
