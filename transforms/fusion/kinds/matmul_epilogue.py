"""`onnx.matmul_epilogue`: a matrix product and the elementwise ops on its result, tile by tile.

    MatMul ──► Add(bias) ──► Gelu ──► Add(residual) ──► y

Batches of the factors broadcast against each other; the last dims of an operand meet rows and columns. A
Transpose that swaps rows and columns of the right factor, for this product alone, is read through.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, ints_attr
from onnxloom.transforms.fusion.epilogue import Core, EpilogueFusion, only_reader, unfit_factors
from onnxloom.transforms.fusion.match import Miss
from onnxloom.transforms.fusion.spaces import Read, Space, Spaces, broadcast, shape_of


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
    def core_of(cls, product: Operation) -> Core | Miss:
        transpose = transpose_before(product)
        return Core(product) if transpose is None else Core(product, (transpose,))

    @classmethod
    def product_space(cls, product: Operation, spaces: Spaces) -> Space:
        transpose = transpose_before(product)
        if transpose is None:
            return matmul_space(product, product.operands[:2], spaces)
        left, right = spaces.input(product.operands[0]), spaces.input(transpose.data)
        assert left is not None and right is not None
        batch = broadcast([left[2:], right[2:]])
        assert batch is not None
        return (right[1], left[1], *batch)

    @classmethod
    def unfit_operand(cls, product: Operation, read: Read) -> str | None:
        return "a vector along an axis that is not the last" if read.trailing else None


def transpose_before(product: Operation) -> onnx.TransposeOp | None:
    """The Transpose that swaps rows and columns of the right factor of a MatMul, for it alone."""
    if not isinstance(product, onnx.MatMulOp):
        return None
    transpose = product.B.owner
    if not isinstance(transpose, onnx.TransposeOp) or transpose.parent is not product.parent:
        return None
    shape = shape_of(transpose.data)
    if shape is None or len(shape) < 2 or only_reader(product.B) is not product:
        return None
    axes = range(len(shape))
    swapped = (*axes[:-2], axes[-1], axes[-2])
    return transpose if (ints_attr(transpose, "perm") or tuple(reversed(axes))) == swapped else None


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
