"""com.microsoft MatMulNBits: a product with weights of 2, 4 or 8 bits, dequantized while they are multiplied.

`B[n, block, ..]` holds the weights of column n, `block_size` along K per block, several to a byte, the first
in the low bits. Each block has a scale and a zero point (half the range if not given). Source: the
operator's schema in ONNX Runtime's ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, TensorType, i8, i64
from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, buffer_element, program_constant, shape_of
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.quantized.blocked_weights import (
    BlockedForm,
    BlockedWeights,
    build_blocked_product,
)
from onnxloom.conversion.onnx_to_loom.registry import Inputs, custom_lowering
from onnxloom.conversion.onnx_to_loom.value_checks import refuse_where
from onnxloom.dialects import loom
from onnxloom.dialects.loom.packing import row_panels
from onnxloom.dialects.onnx.access import int_attr
from onnxloom.dialects.onnx.semantics.scalars import is_float

Array = npt.NDArray[Any]

BITS = (2, 4, 8)


@custom_lowering("com.microsoft", "MatMulNBits")
def lower_matmul_nbits(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """`A @ dequantized(B) + bias`."""
    a, b, scales, zeros, order, bias = (*inputs, *[None] * 6)[:6]
    assert a is not None and b is not None and scales is not None
    depth, columns, block = (int_attr(op, name, 0) for name in ("K", "N", "block_size"))
    bits = int_attr(op, "bits", 4)
    if order is not None:
        raise Declined("weights whose blocks are in another order have no kernel")
    if bits not in BITS or block < 16 or block % (8 // bits):
        raise Declined(f"weights of {bits} bits in blocks of {block} have no kernel")
    if not is_float(buffer_element(a.type)) or shape_of(a)[-1] not in (depth, DYNAMIC_INDEX):
        raise Declined(f"A of type {a.type} is not multiplied with weights of {depth} rows")
    weights, scale = program_constant(b), program_constant(scales)
    zero = None if zeros is None else program_constant(zeros)
    if weights is None or scale is None or (zeros is not None and zero is None):
        raise Declined("the weights, their scales or zero points are not constant")
    if np.isinf(scale.astype(np.float32)).any():
        raise Declined("scales that are infinite do not come after sums of products")
    blocks, lanes = -(-depth // block), builder.kernels.target.lanes(4)
    _check_sizes(columns, blocks, block * bits // 8, (weights, scale))
    if zero is not None and zero.size != columns * (-(-blocks * bits // 8) if _is_packed(zero) else blocks):
        raise Declined(f"{zero.size} zero points do not fit {columns} columns of {blocks} blocks")
    if bias is not None and shape_of(bias) != (columns,):
        raise Declined(f"a bias of type {bias.type} does not fit {columns} columns")
    panels = -(-columns // lanes)
    params = {"rows": IntegerAttr(columns, i64), "columns": IntegerAttr(lanes, i64)}
    type_ = TensorType(i8, [panels, blocks * block * bits // 8, lanes])
    numbers = zero_points(zero, columns, blocks, bits)
    parts = BlockedWeights(
        builder.insert(loom.PackOp(b, "row_panels", dict(params), type_)).results[0],
        builder.constant(_by_lane(scale.reshape(columns, blocks), lanes)),
        builder.constant(_by_lane(numbers, lanes)),
        bias,
    )
    form = BlockedForm(bits, block, depth, columns, lanes)
    if shape_of(a)[-1] == DYNAMIC_INDEX:
        *leading, own = builder.dims(a)
        rows = builder.index(depth)
        refuse_where(builder, own, "ne", rows, f"A is not multiplied with weights of {depth} rows")
        a = builder.view(a, [*leading, rows])
    return [build_blocked_product(builder, a, parts, form, op.results[0].type)]


def _check_sizes(columns: int, blocks: int, block_bytes: int, arrays: tuple[Array, Array]) -> None:
    """Raises Declined unless weights and scales are what the attributes say."""
    weights, scale = arrays
    if weights.dtype.itemsize != 1 or weights.size != columns * blocks * block_bytes:
        size = f"{weights.nbytes} bytes of {weights.dtype.name} weights"
        raise Declined(f"{size} do not fit {columns} columns of {blocks} blocks of {block_bytes} bytes")
    if scale.size != columns * blocks:
        raise Declined(f"{scale.size} scales do not fit {columns} columns of {blocks} blocks")


def _is_packed(zero: Array) -> bool:
    return zero.dtype == np.uint8


def zero_points(zero: Array | None, columns: int, blocks: int, bits: int) -> Array:
    """`[columns, blocks]` as floats: given as floats, packed like the weights of a column, or left out."""
    if zero is None:
        return np.full((columns, blocks), 1 << (bits - 1), np.float32)
    if not _is_packed(zero):
        return zero.reshape(columns, blocks).astype(np.float32)
    packed = zero.reshape(columns, -1)
    parts = [(packed >> np.uint8(at)) & np.uint8((1 << bits) - 1) for at in range(0, 8, bits)]
    return np.stack(parts, axis=-1).reshape(columns, -1)[:, :blocks].astype(np.float32)


def _by_lane(array: Array, lanes: int) -> Array:
    return row_panels(array.astype(np.float32), {"rows": array.shape[0], "columns": lanes})
