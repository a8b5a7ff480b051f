"""Mul(Gemm(A, B, C), k) -> Gemm(A, k * B, k * beta * C), k a constant: one number, or one per column.

C, if any, is one number or one per column.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.patterns.weights.affine_after import AffineAfter


class GemmMulPattern(AffineAfter):
    """The weights of a Gemm take over the Mul behind it."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.GemmOp,)
    reader: ClassVar[type[Operation]] = onnx.MulOp
