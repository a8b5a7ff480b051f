"""`onnx.matmul_epilogue`: a matrix product and the elementwise ops on its result, tile by tile.

    MatMul ──► Add(bias) ──► Gelu ──► Add(residual) ──► y

Batches of the factors broadcast against each other; the last dims of an operand meet rows and columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.transforms.fusion.epilogue import EpilogueFusion, unfit_factors
from onnxloom.transforms.fusion.match import Miss
from onnxloom.transforms.fusion.spaces import Read, Space, Spaces, broadcast


class MatMulEpilogueFusion(EpilogueFusion):
    """A MatMul or Gemm with its epilogue."""

    kind: ClassVar[str] = "onnx.matmul_epilogue"
    anchors: ClassVar[tuple[type[Operation], ...]] = (onnx.MatMulOp, onnx.GemmOp)

    @classmethod
    def unfit_product(cls, op: Operation) -> Miss | None:
        if not isinstance(op, onnx.MatMulOp | onnx.GemmOp):
            return Miss(f"{op.name} is not a matrix product")
        return unfit_factors(op, least_rank=2)

    @classmethod
    def product_space(cls, product: Operation, spaces: Spaces) -> Space:
        return matmul_space(product, product.operands[:2], spaces)

    @classmethod
    def unfit_operand(cls, product: Operation, read: Read) -> str | None:
        return "a vector along an axis that is not the last" if read.trailing else None


def matmul_space(product: Operation, factors: Sequence[SSAValue], spaces: Spaces) -> Space:
    """The space of the result of a matrix product; `factors` have the dims of its first operands."""
    left, right = (spaces.input(factor) for factor in factors)
    assert left is not None and right is not None
    if isinstance(product, onnx.GemmOp):
        rows = left[0] if int_attr(product, "transA") else left[1]
        columns = right[1] if int_attr(product, "transB") else right[0]
        return (columns, rows)
    batch = broadcast([left[2:], right[2:]])
    assert batch is not None
    return (right[0], left[1], *batch)
