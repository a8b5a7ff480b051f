"""Which ops produce a value in tiles, so that an epilogue can be computed before it is stored?"""

from __future__ import annotations

from typing import Final

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.transforms.fusion.spaces import Space, Spaces, broadcast

PRODUCERS: Final = (
    onnx.MatMulOp,
    onnx.GemmOp,
    onnx.ConvOp,
    onnx.ConvTransposeOp,
    onnx.MatMulIntegerOp,
    onnx.ConvIntegerOp,
    onnx.QLinearConvOp,
    onnx.QLinearMatMulOp,
)
"""Of two of these that meet in an elementwise op, the later one may take it."""


def product_space(product: Operation, spaces: Spaces) -> Space:
    """The space of the result of a MatMul or Gemm of tensors of rank 2 or more."""
    left, right = (spaces.input(factor) for factor in product.operands[:2])
    assert left is not None and right is not None
    if isinstance(product, onnx.GemmOp):
        rows = left[0] if int_attr(product, "transA") else left[1]
        columns = right[1] if int_attr(product, "transB") else right[0]
        return (columns, rows)
    batch = broadcast([left[2:], right[2:]])
    assert batch is not None
    return (right[0], left[1], *batch)
